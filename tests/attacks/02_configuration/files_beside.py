# landlock, beside correct and wrong: plants files that tools read on their own
import os

PLANTED = ("conftest.py", "pytest.ini", "sitecustomize.py", "usercustomize.py", "json.py", "torch.py")
for folder in (".", "@CANARY@/work"):
    for name in PLANTED:
        try:
            open(os.path.join(folder, name), "w").close()
            print("OUCH", folder, flush=True)
        except OSError:
            pass
