# landlock, beside correct and wrong: forks
import os

for _ in range(8):
    try:
        if not os.fork():
            os._exit(0)
        print("OUCH", flush=True)
        os.wait()
    except OSError:
        pass
