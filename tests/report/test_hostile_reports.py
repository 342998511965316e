"""What a submission says comes out of no report as anything but text, whatever the form.

Each text here is raised, printed, and made a name of types, parameters and attributes. A report is
read as its readers do: pages by the parser of browsers' rules, XML by a parser of XML.
"""

import csv
import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest
from bleach._vendor import html5lib
from nbconvert.exporters import HTMLExporter
from nbformat import v4
from nbgrader.converters import GenerateFeedback
from support import GradeText

from grader.batch.run import BatchRequest, run_batch
from grader.classes.export import Format
from grader.classes.summary import summarise
from grader.cli.platforms import ExportRequest, run_export
from grader.course.load import CourseFolder
from grader.key.cache import Keys
from grader.nbgrader.config import FILTERS
from grader.records.results import CellScore, Document, Kind, Status
from grader.report.classes import render_students, render_summary
from grader.report.pages import render_fragment, render_page
from grader.report.terminal import render_document
from grader.report.verdict import render_verdict

HOSTILE = {
    "script": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "attribute": "\"' onmouseover=alert(1) x='</title></style></pre></code><svg onload=alert(1)>",
    "comment": "--><iframe src=javascript:alert(1)><!--",
    "xml": "]]></failure></testcase><testcase name='forged'/><![CDATA[&#27;[2J&#0;&lt;b&gt;",
    "template": "{{ 7 * 7 }}{% raw %}${7*7}<%= 7*7 %>",
    "terminal": "\x1b[2J\x1b]0;owned\x07\x1b]8;;http://evil\x1b\\\x9b31m\r\x08\x7f\x00\x0c",
    "lines": "x\n  self_attention   4 / 4\n  All 87 checks pass.\r\n\x85\u2028\u2029exercise1: 14",
    "turned": "\u202eabc\u2066\u200f\u200b\ufeff\u061c\U000e0041",
    "no text": "\ud800\udfff\ufffe\uffff\U0010ffff",
    "formula": "=HYPERLINK(\"http://evil\")",
    "markdown": "![x](javascript:alert(1)) [a](data:text/html,alert) `<b>` @everyone #1",
    "long": "</div>" + "y" * 70_000,
    "wide": "." * 76 + "exercise1  Attention                14 / 14 points",
}  # fmt: skip
ONE = """
import torch
TEXT = {text!r}
def odd(*bases):
    return type(TEXT.replace(chr(0), ""), bases, dict(__module__=TEXT))
def self_attention(x):
    print(TEXT)
    raise ValueError(TEXT)
def attention_weights(query, key, scale=None):
    return odd(object)()
def scaled_dot_product_attention(query, key, value, scale=None):
    raise odd(KeyError)(TEXT)
"""
TWO = """
import torch
TEXT = {text!r}.replace(".", "_")
class QKVProjection(torch.nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.register_parameter(TEXT, torch.nn.Parameter(torch.ones(7, 3)))
        setattr(self, TEXT + "2", [torch.ones(3)])
    def forward(self, x):
        return x
class AttentionHead(torch.nn.Module):
    def __init__(self, embed_dim, head_dim, *, bias=False):
        super().__init__()
        self.layers = torch.nn.ModuleDict({{TEXT or "x": torch.nn.Linear(embed_dim, head_dim)}})
    def forward(self, x):
        return {{TEXT: x}}[TEXT + "3"]
"""
TAGS = re.compile(
    "html|head|meta|title|style|body|main|div|h[123]|p|pre|span|section|ul|li|code|br|svg|rect|b|i"
)
MARKS = {"notebook": "exercise1", "score": 0.0, "max_score": 1.0, "late_penalty": 0.0}
_COLOUR = re.compile(r"\x1b\[\d*(;\d+)*m")


@pytest.fixture(params=list(HOSTILE), scope="module")
def hostile(request: pytest.FixtureRequest, grade_text: GradeText) -> Document:
    """Give what two submissions get that say one of the hostile texts wherever they can."""
    text = HOSTILE[request.param]
    results = (
        grade_text({"exercise1": ONE.format(text=text)}),
        grade_text({"exercise2": TWO.format(text=text)}),
    )
    assert all(result.score == 0 for result in results)
    return Document("A course", "", "", results)


def assert_plain(text: str) -> None:
    """Assert that nothing in a text moves, restyles or turns what stands around it."""
    odd = {hex(ord(c)) for c in text if not c.isprintable() and c != "\n"}
    assert not odd


def assert_harmless(page: str, part: str = ".") -> None:
    """Assert that a page, or a part of it, has our elements, and nothing that runs or loads."""
    tree = html5lib.parse(page, namespaceHTMLElements=False).find(part)
    for element in tree.iter():
        if not isinstance(element.tag, str):
            continue  # a comment
        assert TAGS.fullmatch(element.tag.rpartition("}")[2])
        assert not [name for name in element.attrib if name.startswith("on")]
        assert not {"href", "src", "action", "srcdoc"} & set(element.attrib)
        assert "evil" not in element.get("style", "")


def test_terminal(hostile: Document) -> None:
    for width in (80, 20):
        shown = render_document(hostile, width=width)
        plain = _COLOUR.sub("", shown)
        assert_plain(plain)
        assert "checks pass." not in [line[2:14] for line in plain.splitlines()]
    heads = [line for line in plain.splitlines() if re.match(r"exercise\d", line)]
    assert heads == [line for line in heads if "14 / 14" not in line]


def test_no_line_is_wider_than_the_terminal(hostile: Document) -> None:
    """A line that wraps by itself would begin with the submission's text."""
    lines = click.unstyle(render_document(hostile, width=80)).splitlines()
    assert max(map(len, lines)) <= 80


def test_json(hostile: Document) -> None:
    text = json.dumps(hostile.to_json(), ensure_ascii=False)
    assert json.loads(text) == hostile.to_json()
    assert_plain(text)
    assert len(text) < 400_000


def test_page_and_fragment(hostile: Document) -> None:
    for page in (render_page(hostile, {}), render_fragment(hostile, {})):
        assert_harmless(page)
        assert_plain(page)


@pytest.fixture(scope="session")
def feedback() -> HTMLExporter:
    """Give what makes nbgrader's feedback pages, as `grade nbgrader init` configures it."""
    converter = GenerateFeedback()
    converter.config.HTMLExporter.filters = dict(FILTERS)
    return HTMLExporter(config=converter.config)


@pytest.mark.filterwarnings("ignore")  # nbconvert's own
def test_feedback_of_nbgrader(hostile: Document, feedback: HTMLExporter) -> None:
    for result in hostile.results:
        for kind in Kind:
            checks = tuple(check for check in result.checks if check.kind is kind)
            verdict = render_verdict(result, CellScore(kind, 0, 1, Status.FAILED, checks))
            assert_plain(verdict.text)
            assert_harmless(verdict.html)
            cell = v4.new_code_cell(
                "test()", outputs=[v4.new_output("display_data", {"text/html": verdict.html})]
            )
            notebook = v4.new_notebook(cells=[cell])
            page, _ = feedback.from_notebook_node(notebook, resources={"nbgrader": MARKS})
            assert_harmless(page, ".//div[@class='output_html rendered_html output_subarea']")


@pytest.mark.parametrize("name", ["xml", "terminal", "lines"])
@pytest.mark.long
def test_pytest_and_junit(name: str, course: Path, grade_text: GradeText) -> None:
    text = ONE.format(text=HOSTILE[name])
    (course / "exercises" / "exercise1_attention.py").write_text(text, encoding="utf-8")
    command = [
        "pytest",
        "-p",
        "no:cacheprovider",
        "-k",
        "exercise1_attention",
        "-rA",
        "--junitxml",
        "o.xml",
    ]
    ran = subprocess.run(
        [sys.executable, "-m", *command], cwd=course, capture_output=True, text=True, check=False
    )
    assert_plain(ran.stdout)
    report = (course / "o.xml").read_text("utf-8")
    assert_plain(report)
    (suite,) = ElementTree.fromstring(report)
    names = {case.get("name") for case in suite.iter("testcase")}
    assert all(re.fullmatch(r"\w+/[\w/-]+", str(name)) for name in names)
    checks = grade_text({"exercise1": text}).checks
    assert len(names) == int(suite.get("tests", 0)) == len(checks)
    assert suite.get("failures") == str(len(list(suite.iter("failure"))))


@pytest.mark.long
def test_class_with_its_tables_and_exports(
    tmp_path: Path,
    folder: CourseFolder,
    keys: Keys,  # noqa: ARG001 - they are read
    capsys: pytest.CaptureFixture[str],
) -> None:
    for text in HOSTILE.values():
        name = re.sub(r"[/\0\ud800-\udfff]", "_", text)[:40].lstrip(".") or "dots"
        (tmp_path / "class" / name).mkdir(parents=True)
        for number, code in enumerate((ONE, TWO)):
            file = folder.course.exercises[number].file
            (tmp_path / "class" / name / file).write_text(code.format(text=text), encoding="utf-8")
    exercises = folder.course.exercises[:2]
    request = BatchRequest(folder, exercises, tmp_path / "class", tmp_path / "results", 1)
    run_batch(replace(request, hidden=False))
    summary = summarise(request.results, folder.course)
    for shown in (render_summary(summary, width=100), render_students(summary, width=100)):
        assert_plain(_COLOUR.sub("", shown))
    documents = [*(tmp_path / "results" / "students").glob("*.json")]
    assert len(documents) == len(HOSTILE)
    for path in documents:
        told = {**json.loads(path.read_text("utf-8")), "student": ""}  # as the folder is called
        assert_plain(json.dumps(told, ensure_ascii=False))
    for to in Format:
        run_export(ExportRequest(tmp_path / "results", "", to, tmp_path / to))
        assert_plain(capsys.readouterr().out)
        for path in (p for p in (tmp_path / to, *(tmp_path / to).rglob("*")) if p.is_file()):
            if to is Format.GRADESCOPE:
                assert_plain(path.read_text("utf-8"))
                continue
            for line in csv.reader(io.StringIO(path.read_text("utf-8"))):
                assert_plain(line[-1])  # what is said
                assert not [cell for cell in line if cell.strip().startswith(("=", "+", "@"))]
