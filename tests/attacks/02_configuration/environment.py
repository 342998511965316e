# process, beside correct and wrong: sets variables that tools obey
import os

os.environ.update(
    PYTEST_ADDOPTS="--exitfirst", PYTHONSTARTUP="evil.py", PYTHONPATH=".", LD_PRELOAD="./evil.so",
    BASH_ENV="./evil.sh", TORCH_LOGS="all",
)  # fmt: skip
