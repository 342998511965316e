# landlock, beside correct and wrong: takes memory that no limit on data counts
import mmap

try:
    mmap.mmap(-1, 1 << 26).close()
    print("OUCH", flush=True)
except OSError:
    pass
