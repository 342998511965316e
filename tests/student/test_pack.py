"""`grade pack`: what is handed in is what was graded, and the receipt says so."""

import hashlib
import io
import json
import shutil
import zipfile
from pathlib import Path

import pytest
from support import SUBMISSIONS

from grader.cli.study import run_pack
from grader.course.load import load_course
from grader.errors import SubmissionError
from grader.grading.engine import Engine
from grader.handin.read import read_submission
from grader.student.findings import Findings
from grader.student.pack import RECEIPT, content_hash, pack_work
from grader.student.progress import load_progress


def _unpacked(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_pack_holds_the_graded_files_and_a_receipt(shipped_findings: Findings) -> None:
    exercises = shipped_findings.folder.course.exercises
    packed = pack_work(shipped_findings, SUBMISSIONS / "unknown-name", exercises)
    files = _unpacked(packed.data)
    receipt = json.loads(files.pop(RECEIPT))
    assert {line["file"] for line in receipt["exercises"] if line["file"]} == set(files)
    for line in receipt["exercises"]:
        if line["file"]:
            assert line["sha256"] == hashlib.sha256(files[line["file"]]).hexdigest()
    assert receipt["content"] == content_hash(files)
    assert (receipt["score"], receipt["max_score"]) == (71.0, sum(e.points for e in exercises))


def test_pack_is_graded_alike_by_whoever_unpacks_it(
    shipped_engine: Engine, shipped_findings: Findings, tmp_path: Path
) -> None:
    course = shipped_findings.folder.course
    packed = pack_work(shipped_findings, SUBMISSIONS / "keys-from-queries", course.exercises)
    for name, data in _unpacked(packed.data).items():
        (tmp_path / name).write_bytes(data)
    submission = read_submission(tmp_path, course, course.exercises, 2**21)
    result = shipped_engine.run(course.exercise("exercise3"), submission, quick=True).result
    assert result.score == packed.receipt.score == 7.5


def test_pack_takes_the_copy_that_grading_takes(shipped_findings: Findings, tmp_path: Path) -> None:
    name = "exercise3_multi_head"
    right = (SUBMISSIONS / "perfect" / f"{name}.py").read_bytes()
    (tmp_path / f"{name}.py").write_bytes(right)
    (tmp_path / f"{name}.ipynb").write_text("{}")
    packed = pack_work(shipped_findings, tmp_path, shipped_findings.folder.course.exercises)
    assert set(_unpacked(packed.data)) == {f"{name}.py", RECEIPT}
    assert packed.receipt.score == 20


def test_pack_of_nothing_is_refused(shipped_findings: Findings, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(SubmissionError, match="nothing to pack"):
        pack_work(shipped_findings, tmp_path, shipped_findings.folder.course.exercises)


def test_pack_does_not_follow_links(shipped_findings: Findings, tmp_path: Path) -> None:
    (tmp_path / "exercise3_multi_head.py").symlink_to(SUBMISSIONS / "perfect")
    with pytest.raises(SubmissionError, match="is a link, not a file: hand in the file itself"):
        pack_work(shipped_findings, tmp_path, shipped_findings.folder.course.exercises)


def test_pack_accepts_windows_line_ends(shipped_findings: Findings, tmp_path: Path) -> None:
    name = "exercise3_multi_head.py"
    text = (SUBMISSIONS / "perfect" / name).read_bytes().replace(b"\n", b"\r\n")
    (tmp_path / name).write_bytes(text)
    packed = pack_work(shipped_findings, tmp_path, shipped_findings.folder.course.exercises)
    assert packed.receipt.score == 20
    assert _unpacked(packed.data)[name] == text


def test_pack_refuses_a_file_that_nobody_would_grade(
    shipped_findings: Findings, tmp_path: Path
) -> None:
    (tmp_path / "final_v2.py").write_text("x = 1\n")
    with pytest.raises(SubmissionError, match="rename it first, as exercise1_attention"):
        pack_work(
            shipped_findings,
            tmp_path / "final_v2.py",
            shipped_findings.folder.course.exercises,
        )


def test_points_that_pack_tells_are_those_of_the_list(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "exercise1_attention.py"
    shutil.copy(SUBMISSIONS / "perfect" / name, course / "exercises" / name)
    monkeypatch.chdir(course)
    receipt = run_pack(None, None, None)
    own = load_progress(load_course(course)).of("exercise1")
    assert (own.score, own.passed) == (14, True)
    assert "14 / 14" in receipt
