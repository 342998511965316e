# landlock, beside correct and wrong: makes files and folders without end
import os

for number in range(200):
    try:
        os.mkdir(f"folder{number}")
        print("OUCH", flush=True)
    except OSError:
        pass
