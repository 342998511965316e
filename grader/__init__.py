"""An autograder that names the mistake: courses are declared, submissions only claim outputs.

In a notebook: `from grader import check`, and then `check("exercise3")`.
"""

from typing import Any

__version__ = "0.1.0"
__all__ = ["check"]


def __getattr__(name: str) -> Any:
    """Load `check` on first use: importing grader costs nothing."""
    if name == "check":
        from grader.notebook import check

        return check
    raise AttributeError(f"module 'grader' has no attribute {name!r}")


def load_ipython_extension(ipython: Any) -> None:
    """Answer to `%load_ext grader`."""
    from grader.notebook import load_extension

    load_extension(ipython)
