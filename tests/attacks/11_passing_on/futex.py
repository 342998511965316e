# landlock, beside correct and wrong: waits and wakes at a page of a file, which others share
import ctypes
import os
import platform

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
file = os.open(os.__file__, os.O_RDONLY)
page = libc.mmap(None, ctypes.c_size_t(4096), 1, 2, file, ctypes.c_long(0))  # read only, private
number = {"x86_64": 202, "aarch64": 98}[platform.machine()]
waitv = 449
soon = (ctypes.c_long * 2)(0, 1000)


def futex(operation, value, until=None):
    given = (ctypes.c_long(number), ctypes.c_void_p(page), ctypes.c_int(operation))
    return libc.syscall(*given, ctypes.c_uint(value), until, None, ctypes.c_uint(0xFFFFFFFF))


first = ctypes.c_uint.from_address(page).value
for operation in (0, 9, 9 | 0x100):  # wait, with a set of bits, by the clock of the wall
    if futex(operation, first, soon) == 0 or ctypes.get_errno() == 110:  # it waited
        print("OUCH", flush=True)
for operation in (1, 10):  # wake, with a set of bits
    if futex(operation, 1) >= 0:
        print("OUCH", flush=True)
one = (ctypes.c_uint64 * 3)(first, page, 2)  # a futex of 32 bits, shared
now = (ctypes.c_long * 2)(0, 0)
if libc.syscall(ctypes.c_long(waitv), one, 1, 0, now, 1) == 0 or ctypes.get_errno() == 110:
    print("OUCH", flush=True)
