# landlock, beside correct and wrong: changes a file's mode and times, links to it
import os

PATH = "@CANARY@/results/scores.csv"
TRIES = (
    lambda: os.chmod(PATH, 0o600),
    lambda: os.utime(PATH, (0, 0)),
    lambda: os.link(PATH, f"{PATH}.hard"),
    lambda: os.symlink(PATH, f"{PATH}.soft"),
    lambda: os.mkfifo(f"{PATH}.pipe"),
    lambda: os.chown(PATH, os.getuid(), os.getgid()),
)
for one in TRIES:
    try:
        one()
        print("OUCH", flush=True)
    except OSError:
        pass
