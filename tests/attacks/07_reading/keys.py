# landlock, beside correct and wrong: reads the cached answer keys
import os

for folder, _, names in os.walk("@CACHE@"):
    print("OUCH", folder, len(names), flush=True)
    break
