"""An autograder that names the mistake: courses are declared, submissions only claim outputs.

In a notebook: `from grader import check`, and then `check("exercise3")`.
"""

from typing import Any

__all__ = ["check"]


def __getattr__(name: str) -> Any:
    """Load `check` on first use: importing grader costs nothing, and a worker has nothing else."""
    if name == "check":
        from grader.notebook.check import check

        return check
    if name == "__version__":
        from grader.version import VERSION

        return VERSION
    raise AttributeError(f"module 'grader' has no attribute {name!r}")


def load_ipython_extension(ipython: Any) -> None:
    """Answer to `%load_ext grader`."""
    from grader.notebook.magics import load_extension

    load_extension(ipython)
