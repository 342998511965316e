# process, beside correct and wrong: reads tokens in the environment
import os

if "@TOKEN@" in repr(dict(os.environ)) or "@TOKEN@" in repr(os.environb):
    print("OUCH", flush=True)
