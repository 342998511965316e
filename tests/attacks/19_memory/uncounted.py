# landlock, beside correct and wrong: takes memory that no limit on data counts
import mmap
import os


def anonymous():
    return mmap.mmap(-1, 1 << 26)


def zeros():  # each page that is read is a new one
    return mmap.mmap(os.open("/dev/zero", os.O_RDONLY), 1 << 26, prot=mmap.PROT_READ)


for take in (anonymous, zeros):
    try:
        take().close()
        print("OUCH", take.__name__, flush=True)
    except OSError:
        pass
