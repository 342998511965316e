# landlock, beside correct and wrong: holds a lock on a file that all submissions can read
import fcntl
import os

for take in (
    lambda f: fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB),
    lambda f: fcntl.lockf(f, fcntl.LOCK_SH | fcntl.LOCK_NB),
):
    try:
        with open(os.__file__) as file:
            take(file)
            print("OUCH", flush=True)
    except OSError:
        pass
