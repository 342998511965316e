# process, beside correct and wrong: takes addresses without end
import mmap

try:
    mmap.mmap(-1, 1 << 36, prot=mmap.PROT_READ).close()
    print("OUCH", flush=True)
except OSError:
    pass
