# landlock, beside correct and wrong, may fail by itself: opens its own memory as a file
try:
    open("/proc/self/mem", "rb").close()
    print("OUCH", flush=True)
except OSError:
    pass
