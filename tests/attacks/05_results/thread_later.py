# landlock, beside correct and wrong: writes from a thread while other calls run
import threading
import time


def later():
    while True:
        try:
            open("@CANARY@/results/thread", "w").close()
            print("OUCH", flush=True)
        except OSError:
            pass
        time.sleep(0.01)


threading.Thread(target=later, daemon=True).start()
time.sleep(0.03)
