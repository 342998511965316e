"""The red team: submissions that attack, each at every level of isolation that claims to stop it.

An attack is a file in tests/attacks, a folder a kind. Its first line says the lowest level that
stops it and what it is compared with:

    # landlock, beside correct and wrong: ...   appended to both controls, whose scores it keeps
    # process, instead of stub: ...             a submission of its own, worth what that control is

An attack that succeeds says OUCH. Where its level is not the lowest, it is also run one level down,
where it must succeed: an attack that could never succeed proves nothing.
"""

import json
import os
import re
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from support import NO_TOOL, ROOT, TESTS, assert_full, content_hash

from grader.course.load import CourseFolder
from grader.execute.isolation import Level, probe
from grader.execute.launch import WarmProcess
from grader.grading import shrink
from grader.grading.engine import Engine
from grader.grading.jobs import Standins
from grader.handin.read import Source, Submission, read_submission
from grader.key.cache import Keys
from grader.records.results import ExerciseResult

ATTACKS = TESTS / "attacks"
_HEAD = re.compile(
    r"# (?P<level>\w+), (?:beside correct and wrong|instead of (?P<instead>\w+))"
    r"(?P<unsure>, may fail by itself)?: \S"
)
_TOKEN = f"red-team-{os.getpid()}"
_LIMITS = {
    "case_seconds": 1.0,
    "target_seconds": 2.0,
    "submission_seconds": 6.0,
    "data_mib": 400,
    "restarts": 0,
}


@dataclass(frozen=True)
class Attack:
    """A file that attacks."""

    name: str
    text: str
    level: Level  # the lowest that stops it
    instead: str  # the control that it takes the place of, "" where it is appended to them
    unsure: bool  # it may fail without isolation, too: the system forbids it

    @staticmethod
    def read(path: Path) -> "Attack":
        """Read an attack; its first line has the form above."""
        text = path.read_text(encoding="utf-8")
        head = _HEAD.match(text)
        assert head, path
        name = path.relative_to(ATTACKS).with_suffix("").as_posix()
        return Attack(name, text, Level(head["level"]), head["instead"] or "", bool(head["unsure"]))


def _control(name: str) -> str:
    return (ATTACKS / "controls" / f"{name}.py").read_text(encoding="utf-8")


ALL = [Attack.read(path) for path in sorted(ATTACKS.glob("[0-9]*/*.py"))]
BEST = probe().level  # at which this machine grades: all other levels are long tests
AT_LEVELS = [
    pytest.param(
        attack,
        level,
        id=f"{attack.name}-{level}",
        marks=[] if level is BEST else pytest.mark.long,
    )
    for level in sorted(Level, key=lambda one: -one.rank)  # one warm process after the other
    for attack in ALL
    if level.rank >= attack.level.rank
]
BELOW = [
    pytest.param(attack, level, id=f"{attack.name}-{level}")
    for attack in ALL
    for level in Level
    if level.rank == attack.level.rank - 1 and not attack.unsure
]


# ---- the scene: what an attack aims at ---------------------------------------------------------


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, key_cache: Path) -> Iterator[dict[str, str]]:
    """Give what stands for @NAME@ in an attack: files and listeners that this test owns."""
    folder = tmp_path_factory.mktemp("scene")
    for name in (
        "results/scores.csv", "results/scores.json", "results/gradebook.db", "cache/key.json",
        "submissions/bob/exercise1_attention.py", "home/.netrc", "home/.ssh/id_ed25519",
        "home/.local/share/grade/secrets/course", "work/notes.txt",
    ):  # fmt: skip
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{_TOKEN} kept\n", encoding="utf-8")
    os.environ["RED_TEAM"] = _TOKEN
    with ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        for address in (str(folder / "socket"), f"\0{_TOKEN}"):
            local = stack.enter_context(socket.socket(socket.AF_UNIX))
            local.bind(address)
            local.listen(64)
        answering = threading.Thread(target=_answer, args=(tcp,), daemon=True)
        answering.start()
        yield {
            "CANARY": str(folder),
            "ROOT": str(ROOT),
            "CACHE": str(key_cache),
            "TOKEN": _TOKEN,
            "PID": str(os.getpid()),
            "PORT": str(tcp.getsockname()[1]),
            "UDP": str(udp.getsockname()[1]),
        }
    del os.environ["RED_TEAM"]


def _answer(server: socket.socket) -> None:
    while True:
        try:
            server.accept()[0].close()
        except OSError:
            return


@pytest.fixture(scope="module")
def team(folder: CourseFolder, keys: Keys, scene: dict[str, str]) -> Iterator["Team"]:
    """Grade at any level, with a warm process each."""
    limits = folder.course.limits.model_copy(update=_LIMITS)
    tight = replace(folder, course=folder.course.model_copy(update={"limits": limits}))
    made = Team(tight, replace(keys, pairs=lambda _: {}), scene, {}, {})
    with pytest.MonkeyPatch.context() as patch:
        # the smallest input that shows a failure takes seconds, and is no part of a score
        patch.setattr(shrink, "shrunk", lambda *given: given[1])
        yield made
    for warm in made.started.values():
        warm.close()


@dataclass(frozen=True)
class Team:
    """Grades texts as exercise 1 at a level."""

    folder: CourseFolder
    keys: Keys
    scene: dict[str, str]
    started: dict[Level, WarmProcess]
    scores: dict[tuple[str, Level], ExerciseResult]

    def warm(self, level: Level) -> WarmProcess:
        """Return the warm process of a level; skips where this machine has none."""
        best = probe()
        if level.rank > best.level.rank:
            installable = level is Level.FULL and not shutil.which("bwrap")
            why = "; ".join(f"{w.name}: {w.why}; {w.next_step}" for w in best.missing)
            pytest.skip(f"{NO_TOOL if installable else ''}level {level}: {why}")
        if level not in self.started:
            self.started[level] = WarmProcess(level)
        return self.started[level]

    def grade(self, text: str, level: Level) -> ExerciseResult:
        """Grade a text, in which @NAME@ stands for the scene's."""
        for name, value in self.scene.items():
            text = text.replace(f"@{name}@", value)
        course = self.folder.course
        exercise = course.exercise("exercise1")
        sources = {e.id: Source(e.file, problem="not handed in") for e in course.exercises}
        sources["exercise1"] = Source(exercise.file, units=((exercise.file, text),))
        engine = Engine(self.folder, self.keys, Standins.of(self.folder), self.warm(level))
        return engine.run(exercise, Submission(sources)).result

    def control(self, name: str, level: Level) -> ExerciseResult:
        """Grade a control, once a level."""
        if (name, level) not in self.scores:
            self.scores[name, level] = self.grade(_control(name), level)
        return self.scores[name, level]

    def processes(self, level: Level) -> set[int]:
        """Return the warm process of a level and all that it begot."""
        found: set[int] = set()
        warm = self.warm(level).pid
        assert warm is not None
        waiting = [warm]
        while waiting:
            pid = waiting.pop()
            found.add(pid)
            for listed in Path(f"/proc/{pid}/task").glob("*/children"):
                waiting += [int(child) for child in listed.read_text().split()]
        return found

    def traces(self) -> list[str]:
        """Return what an attack may have left: a digest of its aims, and names with the token."""
        places = ("/tmp", "/var/tmp", "/dev/shm", "/run/lock", str(Path.home()), str(Path.cwd()))
        left = [
            f"{place}/{name}"
            for place in places
            if os.path.isdir(place)
            for name in os.listdir(place)
            if _TOKEN in name
        ]
        course = [content_hash(ROOT / name) for name in ("solutions", "exercises")]
        return [content_hash(Path(self.scene["CANARY"])), *course, *left]


def _strings(result: ExerciseResult) -> Iterator[str]:
    """Give every text of a result, as a report would show it."""
    waiting: list[object] = [asdict(result)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple):
            waiting += value


def _assert_clean(result: ExerciseResult) -> None:
    """Fail where an attack says that it succeeded, or where a text could act on a terminal."""
    texts = list(_strings(result))
    assert [text for text in texts if "OUCH" in text or _TOKEN in text] == []
    assert [text for text in texts if not text.replace("\n", "").isprintable()] == []


# ---- the tests ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("attack", "level"), AT_LEVELS)
def test_attack_gains_nothing_and_leaves_nothing(attack: Attack, level: Level, team: Team) -> None:
    controls = [attack.instead] if attack.instead else ["correct", "wrong"]
    expected = {name: team.control(name, level) for name in controls}
    processes, traces = team.processes(level), team.traces()
    for name in controls:
        text = attack.text if attack.instead else _control(name) + attack.text
        result = team.grade(text, level)
        assert result.score == expected[name].score, name
        _assert_clean(result)
    assert team.processes(level) == processes
    assert team.traces() == traces
    after = team.grade(_control("correct"), level)
    assert after == team.control("correct", level)


@pytest.mark.parametrize(("attack", "level"), BELOW)
def test_attack_succeeds_one_level_down(attack: Attack, level: Level, team: Team) -> None:
    text = attack.text if attack.instead else _control("correct") + attack.text
    kept = {p: p.read_bytes() for p in Path(team.scene["CANARY"]).rglob("*") if p.is_file()}
    try:
        assert any("OUCH" in text for text in _strings(team.grade(text, level)))
    finally:
        _restore(Path(team.scene["CANARY"]), kept)


def _restore(folder: Path, kept: dict[Path, bytes]) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        if path not in kept and not path.is_socket():
            path.rmdir() if path.is_dir() and not any(path.iterdir()) else None
            path.unlink(missing_ok=True) if not path.is_dir() else None
    for path, data in kept.items():
        path.write_bytes(data)


# ---- hostile files: kinds 21 and 22; archives: handin/test_archive.py ----------------------------


def _link(path: Path) -> None:
    path.symlink_to(ROOT / "solutions" / path.name)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def _large(path: Path) -> None:
    path.write_bytes(b"#" * (50 << 20))


def _nul(path: Path) -> None:
    path.write_bytes(b"import torch\0\n")


def _latin(path: Path) -> None:
    path.write_bytes("# \xe9\n".encode("latin-1"))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_link, "is a link, not a file"),
        (_device, "is a link, not a file"),
        (_fifo, "is not an ordinary file"),
        (_socket, "cannot be read"),
        (_large, "is larger than 2048 KiB"),
        (_nul, "holds a NUL character"),
        (_latin, "is not UTF-8 text"),
    ],
)
def test_hostile_file_is_refused_with_a_reason(
    make: Callable[[Path], None], said: str, tmp_path: Path, folder: CourseFolder
) -> None:
    exercise = folder.course.exercise("exercise1")
    make(tmp_path / exercise.file)
    source = read_submission(tmp_path, folder.course, [exercise], 2**21).source(exercise)
    assert said in source.problem
    assert source.next_step


def _notebook(*cells: tuple[str, str], **metadata: object) -> str:
    made: list[dict[str, Any]] = [
        {"cell_type": kind, "metadata": metadata, "source": text, "id": f"c{n}"}
        | ({"outputs": [], "execution_count": None} if kind == "code" else {})
        for n, (kind, text) in enumerate(cells)
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


_RIGHT = _control("correct")
_WRONG = _control("wrong")
_POINTS = {"nbgrader": {"grade": True, "solution": True, "points": 9999, "grade_id": "a"}}
HOSTILE_TEXTS: dict[str, tuple[str, str, str]] = {  # suffix, text, the control that it equals
    "byte-order mark": (".py", f"\ufeff{_RIGHT}", "correct"),
    "deep expression": (".py", f"{_WRONG}\nx = {'-' * 200_000}1", "stub"),
    "long sum": (".py", f"{_WRONG}\nx = {'1+' * 400_000}1", "stub"),
    "fields without end": (".py", f"{_RIGHT}\n# MultiheadAttention\nx = f'{'{1}' * 20_000}'", ""),
    "magics": (
        ".ipynb",
        _notebook(("code", "!touch @CANARY@/magic\n%run @CANARY@/x.py"), ("code", _RIGHT)),
        "correct",
    ),
    "doubled cells": (".ipynb", _notebook(("code", _RIGHT), ("code", _WRONG)), "wrong"),
    "re-typed cells": (".ipynb", _notebook(("markdown", _RIGHT), ("code", _WRONG)), "wrong"),
    "changed points": (".ipynb", _notebook(("code", _WRONG), **_POINTS), "wrong"),
    "deleted cells": (".ipynb", _notebook(), "missing"),
    "deep attribute": (
        ".ipynb",
        _notebook(("code", f"grader{'.a' * 900}('check')"), ("code", _WRONG)),
        "wrong",
    ),
    "checks without end": (".ipynb", _notebook(*[("code", "check('a')\n" * 2900)] * 50), ""),
    "outputs without end": (
        ".ipynb",
        _notebook(("code", _WRONG)).replace('"outputs": []', f'"outputs": [{"{}," * 400_000}0]'),
        "wrong",
    ),
    "odd metadata": (".ipynb", _notebook(("code", _WRONG), nbgrader=[1, 2]), "wrong"),
}


@pytest.mark.parametrize(
    ("suffix", "text", "control"), HOSTILE_TEXTS.values(), ids=list(HOSTILE_TEXTS)
)
def test_hostile_text_is_worth_what_it_holds(
    suffix: str, text: str, control: str, tmp_path: Path, team: Team
) -> None:
    level, course = probe().level, team.folder.course
    exercise = course.exercise("exercise1")
    path = tmp_path / f"{exercise.stem}{suffix}"
    path.write_text(text.replace("@CANARY@", team.scene["CANARY"]), encoding="utf-8")
    traces, begun = team.traces(), time.process_time()
    submission = read_submission(path, course, [exercise], 2**21)
    engine = Engine(team.folder, team.keys, Standins.of(team.folder), team.warm(level))
    result = engine.run(exercise, submission).result
    assert time.process_time() - begun < 10  # of the process that judges
    if control == "missing":
        assert result.score == 0
    elif control:
        assert result.score == team.control(control, level).score
    _assert_clean(result)
    assert team.traces() == traces


@pytest.mark.parametrize("kind", range(1, 21))
def test_every_kind_has_an_attack(kind: int) -> None:
    assert [attack for attack in ALL if attack.name.startswith(f"{kind:02}_")]


def test_controls_are_worth_what_they_should_be(team: Team) -> None:
    level = probe().level
    scores = {
        name: team.control(name, level).score
        for name in ("correct", "delegates", "wrong", "shapes", "stub")
    }
    assert_full(team.control("correct", level))
    assert scores["correct"] > scores["delegates"] > scores["wrong"] > scores["shapes"]
    assert scores["shapes"] > scores["stub"] == 0


def test_left_over_process_is_ended_even_without_the_walls(team: Team) -> None:
    daemon = next(attack for attack in ALL if attack.name == "18_processes/daemon")
    before = team.processes(Level.PROCESS)
    team.grade(_control("correct") + daemon.text, Level.PROCESS)
    time.sleep(0.1)
    assert team.processes(Level.PROCESS) == before
