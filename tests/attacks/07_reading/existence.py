# full, beside correct and wrong: asks which files there are, and how large
import os

for path in ("@CANARY@/submissions/bob", "@CANARY@/results/gradebook.db", "@ROOT@/solutions"):
    if os.path.exists(path):
        print("OUCH", path, os.stat(path).st_size, flush=True)
