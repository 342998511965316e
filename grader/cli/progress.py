"""The bar that long work shows."""

import sys
import time

import click

from grader.records.text import printable

_TAIL = 50  # columns behind the bar
_KEYS = 78  # columns while keys are built


class ProgressBar:
    """A bar on standard error, on a terminal only, once the work has taken a second."""

    def __init__(self, *, rate_of: str = "") -> None:
        """Begin to count time; `rate_of` are the things whose rate and time left are shown."""
        self._rate_of = rate_of
        self._begun = time.monotonic()
        self._shown = sys.stderr.isatty()
        self._total = 0
        self._done = 0
        self._workers: int | None = None  # of a cluster, where one grades
        self._keys = 0  # steps of building keys, which are no things of which a rate is shown

    def expect(self, steps: int) -> None:
        """Tell of more steps to come; the rate counts from the first of them."""
        if not self._total:
            self._begun = time.monotonic()
        self._total += steps

    def advance(self, label: str, steps: int = 1) -> None:
        """Tell that a step is done, or several."""
        self._done += steps
        if self._shown and time.monotonic() - self._begun > 1:
            from grader.report.layout import cut, padded  # the first bar comes late enough

            filled = 30 * self._done // max(self._total, 1)
            bar = "█" * filled + "░" * (30 - filled)
            tail = padded(cut(printable(f"{self._pace()}{label}"), _TAIL), _TAIL)
            click.echo(f"\r{bar}  {self._done}/{self._total}  {tail}", nl=False, err=True)

    def _pace(self) -> str:
        if not self._rate_of:
            return ""
        rate = self._done / (time.monotonic() - self._begun)
        left = int((self._total - self._done) / rate)
        who = "" if self._workers is None else f"{self._workers} workers  "
        return f"{who}{rate * 60:.0f} {self._rate_of}/min  {left // 60}:{left % 60:02} left  "

    def count_workers(self, number: int) -> None:
        """Tell how many workers of a cluster grade now."""
        self._workers = number

    def tell(self, text: str) -> None:
        """Print a line that stays, above the bar."""
        self.finish()
        click.echo(printable(text), err=True)

    def key_step(self, what: str) -> None:
        """Tell what of the answer keys is being built: a line each where there is no terminal."""
        self._keys += 1
        if self._shown:
            from grader.report.layout import cut, padded

            text = f"answer keys, step {self._keys}: {what}"
            click.echo(f"\r{padded(cut(text, _KEYS), _KEYS)}", nl=False, err=True)
        else:
            click.echo(f"building answer keys: {what}", err=True)

    def finish(self) -> None:
        """Clear the bar's line."""
        if self._shown:
            click.echo("\r\x1b[K", nl=False, err=True)
