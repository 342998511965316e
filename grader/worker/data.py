"""The data files of a course, which a submission finds in `data/` of the folder that it runs in."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

DATA = "data"  # the folder's name, beside course.yml as well
_READ_ONLY = 0o444


@dataclass(frozen=True)
class DataFiles:
    """Content by path below the folder, with "/" between its parts."""

    files: Mapping[str, bytes]

    @cached_property
    def packed(self) -> bytes:
        """All of them in one piece, which `unpack` reads."""
        sizes = {name: len(content) for name, content in sorted(self.files.items())}
        return json.dumps(sizes).encode() + b"\n" + b"".join(self.files[name] for name in sizes)

    @cached_property
    def digest(self) -> str:
        """What tells them from others, in hexadecimal."""
        return hashlib.sha256(self.packed).hexdigest()

    @staticmethod
    def parse(packed: bytes) -> "DataFiles":
        """Read `packed` back."""
        sizes, _, content = packed.partition(b"\n")
        files, at = {}, 0
        for name, size in json.loads(sizes).items():
            files[name] = content[at : at + size]
            at += size
        return DataFiles(files)

    def write(self, folder: str) -> None:
        """Write them to `data/` of a folder, to be read only."""
        for name, content in self.files.items():
            path = os.path.join(folder, DATA, *name.split("/"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
            os.chmod(path, _READ_ONLY)
