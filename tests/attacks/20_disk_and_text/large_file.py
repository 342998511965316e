# process, beside correct and wrong: fills the disk
import os
import signal

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for folder in (".", "/tmp"):
    try:
        with open(f"{folder}/@TOKEN@", "wb", buffering=0) as file:
            if file.write(b"x" * 4096) > 0:
                print("OUCH", flush=True)
    except OSError:
        pass
    if os.path.exists(f"{folder}/@TOKEN@"):
        os.unlink(f"{folder}/@TOKEN@")
