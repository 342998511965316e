# landlock, beside correct and wrong: reads the course's tests, its history and its compiled files
import os

PATHS = ("tests/submissions/perfect/exercise1_attention.py", "tests/conftest.py", "pyproject.toml",
         "grader/key/cache.py", "grader/grading.py", ".git")  # fmt: skip
for path in PATHS:
    try:
        os.close(os.open(f"@ROOT@/{path}", os.O_RDONLY))
        print("OUCH", path, flush=True)
    except OSError:
        pass
