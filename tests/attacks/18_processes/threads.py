# process, instead of stub: starts threads without end, each with a small stack
import threading
import time

threading.stack_size(32 * 1024)
while True:
    try:
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    except RuntimeError:
        pass
