# landlock, beside correct and wrong: reads the reference solutions and the known bugs
import glob

for pattern in ("@ROOT@/solutions/*.py", "@ROOT@/solutions/*/*", "@ROOT@/course.yml"):
    for path in glob.glob(pattern):
        try:
            open(path).read(10)
            print("OUCH", path, flush=True)
        except OSError:
            pass
try:
    open("@ROOT@/solutions/exercise1_attention.py").read(10)
    print("OUCH", flush=True)
except OSError:
    pass
