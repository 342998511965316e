"""Plays a page that builds something: writes its files, runs its commands, in the page's order.

<!-- file: PATH -->           the block below becomes the file
<!-- append: PATH -->         the block below is added to the file
<!-- after: "WORDS" in PATH -->    the block below comes after the one line with these words
<!-- instead: "WORDS" in PATH -->  the block below takes that line's place
```sh                         each line is run that begins with `grade`, `python` or `pytest`
<!-- output: COMMAND -->      the block below is what that command printed when it ran last
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from documents import printed_by

_STEP = re.compile(
    r"(?:<!-- (?P<what>file|append|after|instead|output): (?P<where>.+?) -->\n)?"
    r"^```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.M | re.S,
)
_LINE = re.compile(r'"(?P<words>.+)" in (?P<path>\S+)')


@dataclass
class Tutorial:
    """A page that is played in a folder."""

    folder: Path
    python: str = sys.executable
    printed: dict[str, str] = field(default_factory=dict)  # by command, when it ran last
    outputs: list[str] = field(default_factory=list)  # for each block of output, in order

    def play(self, page: Path) -> None:
        """Take every step of the page."""
        for step in _STEP.finditer(page.read_text(encoding="utf-8")):
            if step["what"] == "output":
                self.outputs.append(self.printed.get(step["where"]) or self.run(step["where"]))
            elif step["what"]:
                self._write(step["what"], step["where"], step["text"])
            elif step["language"] == "sh":
                for line in step["text"].splitlines():
                    if line.startswith(("grade ", "python ", "pytest ")):
                        self.run(line.partition("#")[0].strip())

    def run(self, command: str) -> str:
        """Run a command in the folder, keep and return what it printed."""
        shown = printed_by(command, self.folder, self.python)
        self.printed[command] = shown.replace(f"{self.folder}/", "")
        return self.printed[command]

    def _write(self, what: str, where: str, text: str) -> None:
        found = _LINE.fullmatch(where)
        path = self.folder / (found["path"] if found else where)
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if what == "append":
            text = before + text
        elif found:
            lines = before.splitlines(keepends=True)
            (number,) = (n for n, line in enumerate(lines) if found["words"] in line)
            kept = number + (what == "after")
            text = "".join([*lines[:kept], text, *lines[number + 1 :]])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
