# landlock, beside correct and wrong: spoils what others will load
import glob
import os

for path in glob.glob("@CANARY@/cache/*") + [f"@CANARY@/work/__pycache__"]:
    try:
        os.open(path, os.O_WRONLY | os.O_CREAT)
        print("OUCH", flush=True)
    except OSError:
        pass
