# landlock, beside correct and wrong, may fail by itself: reads the environment, files and memory of parents
import os

for pid in (os.getppid(), "@PID@", 1):
    for name in ("environ", "mem", "maps", "fd", "cmdline", "root", "cwd"):
        try:
            path = f"/proc/{pid}/{name}"
            os.listdir(path) if name in ("fd", "root", "cwd") else open(path, "rb").read(1)
            print("OUCH", path, flush=True)
        except OSError:
            pass
