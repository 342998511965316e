# landlock, beside correct and wrong: makes memory that outlives the process
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
segment = libc.shmget(0, 4096, 0o1600)
if segment >= 0:
    print("OUCH", flush=True)
    libc.shmctl(segment, 0, None)
try:
    os.close(os.memfd_create("@TOKEN@"))
    print("OUCH", flush=True)
except OSError:
    pass
