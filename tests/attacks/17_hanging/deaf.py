# process, instead of stub: ignores and blocks every signal that can be, and sleeps
import contextlib
import signal
import time

for number in signal.valid_signals():
    with contextlib.suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while True:
    with contextlib.suppress(BaseException):
        time.sleep(1000)
