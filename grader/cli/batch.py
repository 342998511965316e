"""The commands for a class: batch, report with its pages, and similar."""

import contextlib
import json
import os
import re
import shutil
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from grader.batch.database import reading
from grader.batch.merge import holds_results, merge_results
from grader.batch.platforms import feedback_name
from grader.batch.run import Batch, BatchRequest, Graders, run_batch
from grader.classes.feedback import FeedbackReader
from grader.classes.insight import Insight, read_insight
from grader.classes.people import Member
from grader.classes.summary import Summary, summarise
from grader.classes.tables import read_roster
from grader.cli.shared import ProgressBar
from grader.course.load import CourseFolder, find_course, load_course
from grader.errors import UsageError, writing
from grader.execute.isolation import Level
from grader.handin.choose import chosen_exercises
from grader.handin.pick import SUFFIXES
from grader.likeness.pairs import Request, compare_class
from grader.records.people import Platform
from grader.records.text import clean, counted, file_stem, listed, printable
from grader.report.classes import insight_to_json, render_students, render_summary, summary_to_json
from grader.report.likeness import likeness_to_json, render_likeness, render_likeness_page
from grader.report.pages import render_class, render_student


@dataclass(frozen=True)
class ClusterChoice:
    """Which cluster grades a class, if any."""

    scheduler: str | None = None  # None for processes of this machine
    wait: bool = False  # whether to wait for a first worker


@dataclass(frozen=True)
class ClassFiles:
    """Which files a class is read from and written to."""

    submissions: Path
    results: Path
    roster: Path | None
    files: tuple[str, ...]  # EXERCISE=NAME
    merge: bool  # whether the results may be of other folders, too


def run_batch_command(
    given: ClassFiles,
    course: Path | None,
    only: Sequence[str],
    jobs: int | None,
    *,
    part: str,
    isolation: str | None,
    public: bool,
    force: bool,
    trains: bool,
    memory: int | None,
    cluster: ClusterChoice,
) -> int:
    """Grade a class and print its table."""
    folder = load_course(find_course(course))
    if holds_results(given.submissions):
        return _merge(given, folder)
    chosen = chosen_exercises(folder, only, part) if only or part else ()
    places = (given.submissions, given.results)
    request = BatchRequest(
        folder,
        chosen,
        *places,
        jobs or cores(),
        hidden=not public,
        isolation=Level(isolation) if isolation else None,
        force=force,
        trains=trains,
        memory=memory,
        roster=read_roster(given.roster) if given.roster else None,
        merge=given.merge,
        names=names_of(folder, given.files),
    )
    batch = _graded(request, cluster)
    _tell(batch, summarise(given.results, folder.course), given.results)
    return 0


def _merge(given: ClassFiles, folder: CourseFolder) -> int:
    """Add results that are there already, and print the table of all."""
    if not given.merge:
        raise UsageError(
            f"{given.submissions} holds results, and no submissions: --merge adds them to those in "
            f"{given.results}"
        )
    count = merge_results(given.submissions, given.results)
    summary = summarise(given.results, folder.course)
    click.echo(render_summary(summary, width=table_width()))
    added = f"{counted(count, 'submission')} added from {given.submissions}"
    click.echo(f"{added}; results in {given.results}", err=True)
    click.echo(printable(summary.origin), err=True)
    return 0


def _graded(request: BatchRequest, cluster: ClusterChoice) -> Batch:
    """Grade a class under a progress bar."""
    with ProgressBar(rate_of="students") as progress:
        heard = (progress.expect, progress.advance, progress.key_step)
        with _graders(cluster, progress) as graders:
            return run_batch(request, *heard, graders, progress.tell)


@contextlib.contextmanager
def _graders(cluster: ClusterChoice, progress: ProgressBar) -> Iterator[Graders | None]:
    """Give who grades: a cluster's workers, or None for processes of this machine."""
    if cluster.scheduler is None:
        yield None
        return
    from grader.cluster.connect import connected

    with connected(cluster.scheduler) as client:
        from grader.cluster.grading import ClusterGraders, Heard

        heard = Heard(progress.tell, progress.count_workers)
        yield ClusterGraders(client, wait=cluster.wait, heard=heard)


def names_of(folder: CourseFolder, files: Sequence[str]) -> dict[str, str]:
    """Return other names of files by exercise; raises UsageError."""
    names = {}
    for text in files:
        typed, _, name = text.partition("=")
        if not name.endswith(SUFFIXES) or "/" in name:
            raise UsageError(f"--file {text}: give it as exercise3=hw1.py, or with a notebook")
        (exercise,) = chosen_exercises(folder, [typed])
        names[exercise.id] = name
    return names


def _tell(batch: Batch, summary: Summary, results: Path) -> None:
    """Print the table; what is only so now goes beside it, so that the table stays the same."""
    click.echo(render_summary(summary, width=table_width()))
    told = (
        f"{batch.graded} graded now, {batch.unchanged} unchanged; results in {results}; "
        f"isolation: {batch.reach.isolation}"
    )
    for line in (told, *batch.left_out):
        click.echo(line, err=True)
    click.echo(printable(summary.origin), err=True)
    if batch.reach.admission.note:
        click.echo(batch.reach.admission.note, err=True)


def run_report(
    results: Path,
    course: Path | None,
    part: str = "",
    *,
    students: bool,
    as_json: bool,
    html: Path | None,
) -> int:
    """Print the table of a results folder, or write its pages."""
    folder = load_course(find_course(course)).of_part(part)
    summary = summarise(results, folder.course)
    if as_json or html is not None:
        insight = read_insight(results, folder, summary)
        if html is not None:
            write_feedback(results, folder, summary, insight, html, quiet=as_json)
        if as_json:
            plain = {**summary_to_json(summary), **insight_to_json(insight)}
            click.echo(json.dumps(plain, indent=2, ensure_ascii=False))
        return 0
    render = render_students if students else render_summary
    click.echo(render(summary, width=table_width()))
    click.echo(printable(summary.origin), err=True)
    return 0


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def table_width() -> int:
    """Return how many columns a table of a class may have."""
    return max(80, shutil.get_terminal_size((120, 24)).columns)


# ---- pages, and zips that platforms take back ----------------------------------------------------


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


# ---- code that is alike --------------------------------------------------------------------------


def run_similar(
    results: Path, course: Path | None, most: int, *, as_json: bool, html: Path | None
) -> int:
    """Compare the submissions of a results folder and print the pairs that are alike."""
    folder = load_course(find_course(course))
    request = Request(folder, results, most)
    with ProgressBar(rate_of="submissions") as progress:
        found = compare_class(request, expect=progress.expect, advance=progress.advance)
    if html is not None:
        with writing(html):
            html.write_text(render_likeness_page(found), encoding="utf-8")
    if as_json:
        click.echo(json.dumps(likeness_to_json(found), indent=2, ensure_ascii=False))
    else:
        click.echo(render_likeness(found, width=table_width()))
    return 0
