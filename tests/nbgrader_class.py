"""A made-up class that hands in notebooks: good, wrong, late, damaged and hostile ones."""

import json
import os
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import nbgrader
import pytest
import yaml

Notebook = dict[str, Any]
Folder = dict[str, Notebook]  # by the notebook's name


# for a course without a catalogue; what does not stand in a notebook changes nothing
_MISTAKES = [
    ("exercise2", "(1 - keep) * row", "keep * row"),
    ("exercise1", "(variance + eps).sqrt()", "(variance.sqrt() + eps)"),
]


@dataclass(frozen=True)
class Desk:
    """What a made-up student works from."""

    release: Folder
    solved: Folder
    bugs: list[tuple[str, str, str]]  # notebook, old and new text of a known mistake


def open_desk(course: Path, directory: Path, assignment: str) -> Desk:
    """Read releases and solutions of an assignment, and the course's known mistakes."""
    release = _read(directory / "release" / assignment)
    source = _read(directory / "source" / assignment)
    solved = {name: _solved(notebook, source[name]) for name, notebook in release.items()}
    return Desk(release, solved, [*_bugs(course, solved), *_MISTAKES])


def places() -> dict[str, str]:
    """Variables with which nbgrader finds alembic, which it starts as a program, and its pages."""
    prefix = Path(nbgrader.__file__).parents[4]  # activating the environment does the same
    path = os.pathsep.join([str(prefix / "bin"), os.environ["PATH"]])
    return {"PATH": path, "JUPYTER_PATH": str(prefix / "share/jupyter")}


def use_places(patch: pytest.MonkeyPatch) -> None:
    """Let nbgrader's commands run in this process find what they need, until `patch` ends."""
    patch.setattr(os, "environ", os.environ)  # run_nbgrader leaves a plain copy in its place
    for name, value in places().items():
        patch.setenv(name, value)


def _read(folder: Path) -> Folder:
    return {p.stem: json.loads(p.read_text("utf-8")) for p in sorted(folder.glob("*.ipynb"))}


def _solved(release: Notebook, source: Notebook) -> Notebook:
    """A release with the reference's code in the solution cells."""
    code = {grade_id(cell): cell["source"] for cell in source["cells"]}
    done = deepcopy(release)
    for cell in done["cells"]:
        if mark(cell, "solution"):
            cell["source"] = [line for line in code[grade_id(cell)] if "###" not in line]
    return done


def _bugs(course: Path, solved: Folder) -> Iterator[tuple[str, str, str]]:
    for name, notebook in solved.items():
        path = course / "solutions/bugs" / f"{name}.yml"
        if not path.is_file():
            continue
        for bug in yaml.safe_load(path.read_text("utf-8")):
            changes = bug.get("change", [])
            if len(changes) == 1 and changes[0]["old"] in text_of(notebook):
                yield name, changes[0]["old"], changes[0]["new"]


def text_of(notebook: Notebook) -> str:
    return "\n".join("".join(cell["source"]) for cell in notebook["cells"])


def grade_id(cell: dict[str, Any]) -> str:
    return str(cell["metadata"].get("nbgrader", {}).get("grade_id", ""))


def mark(cell: dict[str, Any], key: str) -> Any:
    return cell["metadata"].get("nbgrader", {}).get(key)


def first(notebook: Notebook, key: str) -> int:
    """The index of the first solution or test cell."""
    wanted = (i for i, cell in enumerate(notebook["cells"]) if mark(cell, key))
    return next(i for i in wanted if key != "grade" or not mark(notebook["cells"][i], "solution"))


def good(desk: Desk) -> Folder:
    return deepcopy(desk.solved)


def stub(desk: Desk) -> Folder:
    return deepcopy(desk.release)


def wrong(desk: Desk, *numbers: int) -> Folder:
    """A good folder with some known mistakes."""
    folder = good(desk)
    for number in numbers:
        name, old, new = desk.bugs[number % len(desk.bugs)]
        for cell in folder[name]["cells"]:
            if mark(cell, "solution"):
                cell["source"] = "".join(cell["source"]).replace(old, new)
    return folder


def _damaged(desk: Desk, damage: Callable[[Notebook], None]) -> Folder:
    folder = good(desk)
    damage(next(iter(folder.values())))
    return folder


def _duplicate(notebook: Notebook) -> None:
    for key in ("solution", "grade"):
        index = first(notebook, key)
        copy = deepcopy(notebook["cells"][index])
        copy["id"] = f"copy-{key}"
        notebook["cells"].insert(index, copy)


def _delete_test(notebook: Notebook) -> None:
    del notebook["cells"][first(notebook, "grade")]


def _retype(notebook: Notebook) -> None:
    cell = notebook["cells"][first(notebook, "grade")]
    cell["cell_type"] = "markdown"
    del cell["outputs"], cell["execution_count"]


def _repoint(notebook: Notebook) -> None:
    notebook["cells"][first(notebook, "solution")]["metadata"]["nbgrader"]["grade_id"] = "other"


def _raise_points(notebook: Notebook) -> None:
    notebook["cells"][first(notebook, "grade")]["metadata"]["nbgrader"]["points"] = 1000


def _forge(notebook: Notebook) -> None:
    """Put a full score in place of a test, with the output that it would have."""
    cell = notebook["cells"][first(notebook, "grade")]
    cell["source"] = "3.0"
    output = {"output_type": "execute_result", "data": {"text/plain": "3.0"}, "metadata": {}}
    cell["outputs"] = [{**output, "execution_count": 1}]


def _tests_first(notebook: Notebook) -> None:
    tests = [c for c in notebook["cells"] if mark(c, "grade") and not mark(c, "solution")]
    notebook["cells"] = tests + [c for c in notebook["cells"] if c not in tests]


def _magics(notebook: Notebook) -> None:
    cell = notebook["cells"][first(notebook, "solution")]
    cell["source"] = "%matplotlib inline\n!touch owned\n" + "".join(cell["source"])


def _syntax_error(notebook: Notebook) -> None:
    cell = notebook["cells"][first(notebook, "solution")]
    cell["source"] = "".join(cell["source"]) + "\nthis is no Python"


SCRIPT = "<script>alert(1)</script>"


def _mark_up(notebook: Notebook) -> None:
    """Put markup wherever a page that is made of the notebook could show it."""
    cell = notebook["cells"][first(notebook, "solution")]
    cell["source"] = f"print('{SCRIPT}')\nraise ValueError('<img src=x>')"
    cell["metadata"]["tags"] = [f'">{SCRIPT}']
    links = f"[a](javascript:alert(1)) <img src=x onerror=alert(1)> <b>bold</b> {SCRIPT}"
    data = {"text/html": SCRIPT, "application/javascript": "alert(1)"}
    shown = {"output_type": "display_data", "metadata": {}, "data": data}
    notebook["cells"] += [
        _cell("markdown", links, attachments={"a.svg": {"image/svg+xml": SCRIPT}}),
        _cell("markdown", "[a]: data:text/html,<b>\n\n[a][a] and **this** stays"),
        _cell("raw", SCRIPT, {"raw_mimetype": "text/html"}),
        _cell("code", f"'{SCRIPT}'", outputs=[shown]),
    ]
    notebook["metadata"]["title"] = f"</title>{SCRIPT}"


def _cell(cell_type: str, source: str, metadata: Any = None, **more: Any) -> dict[str, Any]:
    """A cell of the student's own."""
    ran: dict[str, Any] = {"outputs": [], "execution_count": None} if cell_type == "code" else {}
    plain = {"cell_type": cell_type, "source": source, "metadata": metadata or {}}
    return {**plain, "id": f"own-{abs(hash(source)) % 10**9}", **ran, **more}


def _exit(notebook: Notebook) -> None:
    cell = notebook["cells"][first(notebook, "solution")]
    cell["source"] = "import os\nos._exit(0)"


def _old_schema(notebook: Notebook) -> None:
    for cell in notebook["cells"]:
        if mark(cell, "grade_id"):
            cell["metadata"]["nbgrader"]["schema_version"] = 1


DAMAGES = {
    "duplicated": _duplicate,
    "deleted": _delete_test,
    "retyped": _retype,
    "repointed": _repoint,
    "points": _raise_points,
    "forged": _forge,
    "reordered": _tests_first,
    "magics": _magics,
    "syntax": _syntax_error,
    "oldschema": _old_schema,
}
HOSTILE = {"exit": _exit}  # a stock kernel would be ended by it


def _print_points(notebook: Notebook) -> None:
    cell = notebook["cells"][first(notebook, "solution")]
    cell["source"] = "print(1000.0)\n" + "".join(cell["source"])
    notebook["cells"].append(_cell("code", "import sys\nsys.stdout.write('1000')\n1000.0"))


def _fill_outputs(notebook: Notebook) -> None:
    data = {"output_type": "execute_result", "metadata": {}, "execution_count": 1}
    full = {**data, "data": {"text/plain": "1000.0", "text/html": SCRIPT}}
    for cell in notebook["cells"]:
        if mark(cell, "grade"):
            cell["outputs"] = [full, full]
            cell["metadata"]["score"] = cell["metadata"]["nbgrader"]["score"] = 1000


def _grade_itself(notebook: Notebook) -> None:
    """Give the work points of its own, and a cell of another's name, up where files are."""
    work = notebook["cells"][first(notebook, "solution")]
    work["metadata"]["nbgrader"].update(grade=True, points=1000, locked=False)
    marks = {"grade": True, "solution": False, "locked": False, "task": False, "points": 1000}
    for name in ("../../../source/x", "exercise1-shape/../../y"):
        own = {"nbgrader": {**marks, "grade_id": name, "schema_version": 3}}
        notebook["cells"].append(_cell("code", "1000.0", own))


def _give_nan(notebook: Notebook) -> None:
    for cell in notebook["cells"]:
        if mark(cell, "grade"):
            cell["metadata"]["nbgrader"]["points"] = float("nan")
            cell["execution_count"] = float("inf")
    notebook["metadata"]["points"] = float("nan")


def _collide(notebook: Notebook) -> None:
    for cell in notebook["cells"]:
        cell["id"] = "same"


def _name_kernel(notebook: Notebook) -> None:
    notebook["metadata"]["kernelspec"] = {"name": "../evil", "display_name": SCRIPT}
    notebook["metadata"]["language_info"] = {"name": "bash", "file_extension": "../../x"}


def _swell(notebook: Notebook) -> None:
    """Many cells, many and long outputs, and deep metadata, within the size that is read."""
    stream = {"output_type": "stream", "name": "stdout", "text": "x" * 1000}
    notebook["cells"] += [_cell("code", f"x = {n}", outputs=[stream] * 3) for n in range(10)]
    notebook["cells"] += [_cell("markdown", f"{n}") for n in range(300)]
    deep: Any = 0
    for _ in range(200):
        deep = {"a": deep}
    notebook["metadata"]["deep"] = deep


# each is tried on an empty first notebook, which it must earn nothing for
ATTACKS = {
    "prints": _print_points,
    "prefilled": _fill_outputs,
    "ownmarks": _grade_itself,
    "nan": _give_nan,
    "sameids": _collide,
    "kernel": _name_kernel,
    "swollen": _swell,
    "markup": _mark_up,
}


def attacking_class(desk: Desk) -> dict[str, Folder]:
    """Return a folder for each attack, one with all of them, and their control without any."""
    students = {"control": good(desk), "attack-all": good(desk)}
    students["control"]["exercise1"] = stub(desk)["exercise1"]
    students["attack-all"]["exercise1"] = stub(desk)["exercise1"]
    for name, attack in ATTACKS.items():
        students[f"attack-{name}"] = deepcopy(students["control"])
        for student in (f"attack-{name}", "attack-all"):
            attack(students[student]["exercise1"])
    return students


def hand_in_odd_attacks(directory: Path, assignment: str, desk: Desk) -> None:
    """Hand in a course of one's own, keys that are there twice, and format 2."""
    control = attacking_class(desk)["control"]
    place = hand_in(directory, assignment, "attack-course", control)
    (place / "course.yml").write_text("format_version: 1\ntitle: Mine\n", encoding="utf-8")
    manifest = {"format_version": 1, "course": ".", "written": {}}
    (place / ".grade-nbgrader.json").write_text(json.dumps(manifest), encoding="utf-8")
    (place / "nbgrader_config.py").write_text("raise SystemExit('owned')\n", encoding="utf-8")
    full, empty = desk.solved["exercise1"], desk.release["exercise1"]
    twice = f'{json.dumps(full)[:-1]}, "cells": {json.dumps(empty["cells"])}}}'
    code = {"cell_type": "code", "language": "python", "input": text_of(empty), "outputs": []}
    sheet = {"cells": [{**code, "prompt_number": 1, "collapsed": False}]}
    old = json.dumps({"nbformat": 2, "metadata": {}, "worksheets": [sheet]})
    for student, text in {"attack-keys": twice, "attack-format2": old}.items():
        place = hand_in(directory, assignment, student, control)
        (place / "exercise1.ipynb").write_text(text, encoding="utf-8")


def mixed_class(desk: Desk, count: int) -> dict[str, Folder]:
    """Return `count` students' folders: every damage once, then good, empty and wrong in turn."""
    students = {name: _damaged(desk, damage) for name, damage in DAMAGES.items()}
    students["missing"] = dict(list(good(desk).items())[1:])
    number = 0
    while len(students) < count:
        kind = ("good", "stub", "wrong", "wrong", "both")[number % 5]
        made = {"good": (), "wrong": (number * 7,), "both": (number * 5, number * 11)}
        folder = stub(desk) if kind == "stub" else wrong(desk, *made[kind])
        students[f"{kind}{number:02}"] = folder
        number += 1
    return students


def hostile_class(desk: Desk) -> dict[str, Folder]:
    return {name: _damaged(desk, damage) for name, damage in HOSTILE.items()}


def hand_in_unreadable(directory: Path, assignment: str, desk: Desk) -> None:
    """Hand in first notebooks that cannot be graded, beside others that can, and an old format."""
    plain = json.dumps(good(desk)["exercise1"])
    texts = {
        "broken": "{",
        "list": "[1, 2]",
        "nocells": json.dumps({**good(desk)["exercise1"], "cells": [1, "x", None]}),
        "deep": "[" * 100_000,
        "surrogate": plain.replace("import torch", "import torch  # \\ud800", 1),
        "large": plain + " " * 3_000_000,
    }
    for student, text in texts.items():
        place = hand_in(directory, assignment, student, good(desk))
        (place / "exercise1.ipynb").write_text(text, encoding="utf-8")
    linked = hand_in(directory, assignment, "linked", {})
    (linked / "exercise1.ipynb").symlink_to(directory / f"source/{assignment}/exercise1.ipynb")
    os.mkfifo(linked / "exercise2.ipynb")
    place = hand_in(directory, assignment, "oldformat", good(desk))
    for path in place.glob("*.ipynb"):
        notebook = nbformat.from_dict(json.loads(path.read_text("utf-8")))
        path.write_text(nbformat.writes(nbformat.convert(notebook, 3), version=3), "utf-8")


def hand_in(
    directory: Path, assignment: str, student: str, folder: Folder, stamp: str = ""
) -> Path:
    """Write a student's folder, and its time of submission where there is one."""
    place = directory / "submitted" / student / assignment
    place.mkdir(parents=True)
    for name, notebook in folder.items():
        (place / f"{name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    if stamp:
        (place / "timestamp.txt").write_text(stamp, encoding="utf-8")
    return place
