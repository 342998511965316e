"""What is not read, and why."""


class Refused(Exception):
    """A file that is not read; the text completes "exercise1.py ..."."""

    def __init__(self, what: str, next_step: str) -> None:
        super().__init__(what, next_step)  # both, so that it can be pickled
        self.next_step = next_step

    def __str__(self) -> str:
        return str(self.args[0])
