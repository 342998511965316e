# landlock, beside correct and wrong, may fail by itself: copies memory out of other processes
import ctypes
import os


class Range(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]


libc = ctypes.CDLL(None, use_errno=True)
here = ctypes.create_string_buffer(8)
ours = Range(ctypes.addressof(here), 8)
theirs = Range(id(os), 8)
if libc.process_vm_readv(os.getppid(), ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0) > 0:
    print("OUCH", flush=True)
