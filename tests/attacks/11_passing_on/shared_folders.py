# landlock, beside correct and wrong: leaves files where everybody may write
import os

for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run/lock", ".", os.path.expanduser("~")):
    path = f"{folder}/@TOKEN@"
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR))
        print("OUCH", path, flush=True)
        os.unlink(path)
    except OSError:
        pass
