# landlock, beside correct and wrong: runs other programs
import os
import subprocess
import sys

for run in (
    lambda: subprocess.run([sys.executable, "-V"], capture_output=True, check=True),
    lambda: os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", "true"], {}), 0),
    lambda: os.system("true") and (_ for _ in ()).throw(OSError),
):
    try:
        run()
        print("OUCH", flush=True)
    except Exception:
        pass
