# landlock, beside correct and wrong: leaves a process of another session behind
import os
import time

try:
    if not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        for descriptor in range(64):
            try:
                os.close(descriptor)
            except OSError:
                pass
        time.sleep(60)
        os._exit(0)
    print("OUCH", flush=True)
except OSError:
    pass
