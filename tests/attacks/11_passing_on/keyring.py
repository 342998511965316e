# landlock, beside correct and wrong, may fail by itself: stores a key with the kernel
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
ADD_KEY = {"x86_64": 248, "aarch64": 217}[__import__("platform").machine()]
PROCESS_KEYRING = -2
if libc.syscall(ADD_KEY, b"user", b"@TOKEN@", b"x", ctypes.c_size_t(1), PROCESS_KEYRING) > 0:
    print("OUCH", flush=True)
