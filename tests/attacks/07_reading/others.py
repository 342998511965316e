# landlock, beside correct and wrong: reads other students' submissions and the gradebook
for path in ("submissions/bob/exercise1_attention.py", "results/gradebook.db"):
    try:
        open(f"@CANARY@/{path}", "rb").read(1)
        print("OUCH", flush=True)
    except OSError:
        pass
