"""Which files Python, torch and the other installed packages need to read."""

import os
import site
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_SYSTEM = (
    "/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib64", "/usr/local/lib",
    "/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", "/sys/devices/system/cpu",
    "/proc/cpuinfo",
)  # fmt: skip
_SITES = ("site-packages", "dist-packages")
_DATA = ("pydoc_data", "sklearn")
DEVICES = ("/dev/null",)  # may be written, too
_SOURCES = ("/dev/urandom", "/dev/random")


def readable() -> list[str]:
    """Return files and folders, none of them inside another, that a submission may read.

    Of the folders that Python imports from, only libraries' own count: a course or a checkout that
    somebody put on the path is not among them.
    """
    return [*_outermost(_existing([*_SYSTEM, *libraries()])), *_existing(_SOURCES)]


@dataclass(frozen=True)
class Apart:
    """Paths to read, and what stays closed inside of them."""

    whole: list[str]  # files, and folders with all below
    listed: list[str]  # folders of which only the names are read


def but_answers(paths: Iterable[str]) -> Apart:
    """Leave out what holds answers: grader's own package, and data that models learn from.

    An installed package carries a course with its answer key. Of the folders above what is left out
    each entry is listed by itself, whatever these folders are called here: a library's folder may
    have two names. Links in them are left out, for they may lead anywhere.
    """
    closed = {_identity(str(folder)) for folder in closed_folders()}
    above = {_identity(str(above)) for folder in closed_folders() for above in folder.parents}
    apart = Apart([], [])
    waiting = list(paths)
    while waiting:
        path = waiting.pop()
        if _identity(path) in above:
            apart.listed.append(path)
            with os.scandir(path) as entries:
                waiting += [entry.path for entry in entries if not entry.is_symlink()]
        elif _identity(path) not in closed:
            apart.whole.append(path)
    return apart


def closed_folders() -> list[Path]:
    """Return grader's package, and wherever there are the texts and pictures that models learn."""
    above = [Path(path) for path in _existing([*_SYSTEM, *libraries()]) if os.path.isdir(path)]
    pythons = [*above, *(found for path in above for found in path.glob("python3*"))]
    sites = [*pythons, *(python / site for python in pythons for site in _SITES)]
    data = {(folder / name).resolve() for folder in sites for name in _DATA}
    return [own_package(), *sorted(folder for folder in data if folder.is_dir())]


def own_package() -> Path:
    """Return the folder of grader's code."""
    return Path(__file__).resolve().parents[1]


def _identity(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


def libraries() -> list[str]:
    """Return the folders of Python's own library and of installed packages."""
    paths = sysconfig.get_paths()
    found = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    found += [entry for entry in sys.path if os.path.basename(entry) in _SITES]
    found += site.getsitepackages()
    # libpython, and shared libraries of an environment such as conda's
    found += [os.path.join(prefix, "lib") for prefix in (sys.base_prefix, sys.base_exec_prefix)]
    return found


def interpreter() -> list[str]:
    """Return what starting this Python needs beside the libraries, each link on the way too."""
    found = [os.path.join(sys.prefix, "pyvenv.cfg")]
    at = sys.executable
    for _ in range(16):
        found.append(at)
        if not os.path.islink(at):
            break
        at = os.path.join(os.path.dirname(at), os.readlink(at))
    return [*_existing(found), os.path.realpath(sys.executable)]


def own_code() -> list[str]:
    """Return the files of grader that a worker imports: none of them knows an answer."""
    return [str(own_package() / name) for name in ("worker", "__init__.py", "version.py")]


def _existing(paths: Iterable[str]) -> list[str]:
    return [path for path in dict.fromkeys(paths) if os.path.exists(path)]


def _outermost(paths: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for path in sorted(paths):
        if not any(path.startswith(f"{one}/") for one in kept):
            kept.append(path)
    return kept
