"""`grade report --html DIR`: the pages of a class, and zips that its platforms take back."""

import re
import zipfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import click

from grader.batch.database import reading
from grader.batch.platforms import feedback_name
from grader.classes.feedback import FeedbackReader
from grader.classes.insight import Insight
from grader.classes.people import Member
from grader.classes.summary import Summary
from grader.cli.progress import ProgressBar
from grader.course.load import CourseFolder
from grader.errors import UsageError, writing
from grader.records.people import Platform
from grader.records.text import clean, counted, file_stem, listed
from grader.report.feedback import render_class, render_student

_FILE = "feedback.html"  # in the zips
_TAKEN_BACK = (Platform.MOODLE, Platform.CANVAS)
_EPOCH = (1980, 1, 1, 0, 0, 0)  # zip's first moment: the same pages make the same bytes


def write_feedback(
    results: Path,
    course: CourseFolder,
    summary: Summary,
    insight: Insight,
    into: Path,
    *,
    quiet: bool,
) -> None:
    """Write a class's pages and zips, and say what was written; raises GraderError."""
    if into.resolve() == results.resolve():
        raise UsageError(f"{into} holds the results themselves: name another folder for the pages")
    with writing(into), reading(results) as database:
        reader = FeedbackReader(database, results, course)
        (into / "students").mkdir(parents=True, exist_ok=True)
        before = _linked(into / "index.html")
        (into / "index.html").write_text(render_class(summary, insight), encoding="utf-8")
        zips = _write_students(reader, into)
        for name in before - {_page(into, member).name for member in reader.members}:
            (into / "students" / name).unlink(missing_ok=True)
    pages = counted(len(reader.members), "page")
    told = f"wrote {into}: index.html for the class, and {pages} in students/"
    for line in (told, *zips.told()):
        click.echo(line, err=quiet)


def _linked(index: Path) -> set[str]:
    """Return the students' pages that an earlier page of the class links to."""
    text = index.read_text(encoding="utf-8") if index.is_file() else ""
    return set(re.findall(r'href="students/([\w.~-]+\.html)"', text))


def _write_students(reader: FeedbackReader, into: Path) -> "_Zips":
    """Write each person's page, and a group's one for the zips."""
    progress = ProgressBar(rate_of="students")
    progress.expect(len(reader.members))
    with _Zips(into) as zips:
        for members in _groups(reader.members):
            texts = [render_student(reader.of_person(member)) for member in members]
            for member, text in zip(members, texts, strict=True):
                _page(into, member).write_text(text, encoding="utf-8")
                progress.advance(member.label)
            alone = len(members) == 1
            zips.add(members, texts[0] if alone else render_student(reader.of_group(members)))
    progress.finish()
    return zips


def _page(into: Path, member: Member) -> Path:
    return into / "students" / f"{file_stem(member.label)}.html"


def _groups(members: Sequence[Member]) -> list[list[Member]]:
    """Return who handed in together; each who handed in nothing stands alone."""
    found: defaultdict[str, list[Member]] = defaultdict(list)
    for member in members:
        found[member.submission or f"/{member.label}"].append(member)  # no submission has a slash
    return list(found.values())


class _Zips:
    """What platforms take back: a file for each of their submissions."""

    def __init__(self, into: Path) -> None:
        self._into = into
        self._open: dict[Platform, zipfile.ZipFile] = {}
        self._unknown: list[str] = []  # whose the platform could not tell

    def __enter__(self) -> "_Zips":
        for platform in _TAKEN_BACK:
            self._path(platform).unlink(missing_ok=True)  # it may be of another class by now
        return self

    def _path(self, platform: Platform) -> Path:
        return self._into / f"{platform}-feedback.zip"

    def __exit__(self, *_: object) -> None:
        for archive in self._open.values():
            archive.close()

    def add(self, members: Sequence[Member], page: str) -> None:
        """Put a submission's page where its platform looks for it."""
        identity = members[0].identity
        if identity is None or identity.platform not in _TAKEN_BACK:
            return
        name = feedback_name(identity, _FILE)
        archive = self._open.get(identity.platform)
        if not name or (archive is not None and name in archive.NameToInfo):
            self._unknown += [member.label for member in members]
            return
        if archive is None:
            path = self._path(identity.platform)
            archive = self._open[identity.platform] = zipfile.ZipFile(path, "w")
        entry = zipfile.ZipInfo(name, _EPOCH)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = 0o644 << 16
        archive.writestr(entry, page, compresslevel=1)  # a class's pages in half the time

    def told(self) -> list[str]:
        """Say what was written, and whose page is in no zip."""
        lines = [
            f"wrote {archive.filename}: {counted(len(archive.NameToInfo), 'submission')}"
            for archive in self._open.values()
        ]
        if self._unknown:
            names = listed([clean(name, 60) for name in self._unknown])
            count = len(self._unknown)
            lines.append(f"note: in no zip, for the download tells no number ({count}): {names}")
        return lines
