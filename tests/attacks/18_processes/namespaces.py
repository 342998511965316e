# landlock, beside correct and wrong, may fail by itself: makes namespaces, mounts, and rings
import ctypes
import platform

libc = ctypes.CDLL(None, use_errno=True)
NEW_USER, NEW_MOUNTS = 0x10000000, 0x00020000
if libc.unshare(NEW_USER | NEW_MOUNTS) == 0:
    print("OUCH user namespace", flush=True)
for number in (425, 323 if platform.machine() == "x86_64" else 282, 438, 434):
    result = libc.syscall(number, 1, ctypes.create_string_buffer(256))
    if result >= 0:
        print("OUCH", number, flush=True)
