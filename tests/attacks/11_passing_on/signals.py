# landlock, beside correct and wrong: signals the warm process, the grader and everybody
import os

for pid in (os.getppid(), @PID@, 1, 0, -os.getpgrp()):
    try:
        os.kill(pid, 0)
        print("OUCH", pid, flush=True)
    except OSError:
        pass
