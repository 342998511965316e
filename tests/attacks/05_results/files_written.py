# landlock, beside correct and wrong: writes, empties and removes results
import os

FOLDER = "@CANARY@/results"
TRIES = (
    lambda: open(f"{FOLDER}/scores.csv", "w").close(),
    lambda: os.truncate(f"{FOLDER}/scores.json", 0),
    lambda: os.unlink(f"{FOLDER}/gradebook.db"),
    lambda: os.rename(f"{FOLDER}/scores.json", f"{FOLDER}/old.json"),
    lambda: os.mkdir(f"{FOLDER}/new"),
    lambda: os.close(os.open(f"{FOLDER}/exclusive", os.O_CREAT | os.O_EXCL | os.O_WRONLY)),
)
for one in TRIES:
    try:
        one()
        print("OUCH", flush=True)
    except OSError:
        pass
