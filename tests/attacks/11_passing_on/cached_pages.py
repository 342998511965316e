# landlock, beside correct and wrong: drops pages of files from memory, and looks which are there
import ctypes
import mmap
import os
import resource

libc = ctypes.CDLL(None, use_errno=True)
file = os.open(os.__file__, os.O_RDONLY)
mapped = mmap.mmap(file, 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)


def call(name, *given):
    if getattr(libc, name)(*given) < 0:
        raise PermissionError


for reach in (
    lambda: os.posix_fadvise(file, 0, 4096, os.POSIX_FADV_DONTNEED),
    lambda: os.preadv(file, [bytearray(1)], 0, os.RWF_NOWAIT),
    lambda: mapped.madvise(mmap.MADV_WILLNEED),
    lambda: call("readahead", file, ctypes.c_long(0), ctypes.c_size_t(4096)),
    lambda: call("sysinfo", ctypes.create_string_buffer(512)),
    lambda: resource.getrusage(resource.RUSAGE_SELF).ru_majflt,
):
    try:
        reach()
        print("OUCH", flush=True)
    except BlockingIOError:  # it tells that the page is not there
        print("OUCH", flush=True)
    except PermissionError:
        pass
