"""The report as one self-contained page, and as a fragment for notebooks."""

from collections.abc import Mapping, Sequence
from html import escape

from grader.compare.arrays import shown_shape
from grader.exhibits import Drawing, Exhibit, Panel
from grader.records import CheckResult, Diagnosis, Document, ExerciseResult, Kind, Status
from grader.report.pictures import flow, heat_map, panel_scale
from grader.report.terminal import (
    MARKS,
    distinct_failures,
    ended,
    number,
    shown_case,
    sole_reason,
    worded,
)

_STYLE = """
.grade{font:15px/1.5 system-ui,sans-serif;color:#1c1c1c;background:#fff;max-width:62rem;
margin:0 auto;padding:1rem}
.grade h1,.grade h2,.grade h3{line-height:1.25;margin:1.4em 0 .4em}
.grade h1{font-size:1.5rem}.grade h2{font-size:1.25rem;border-top:1px solid #ddd;padding-top:1em}
.grade h3{font-size:1.05rem}.grade .points{float:right;font-weight:600}
.grade .kinds{list-style:none;padding:0;margin:.2em 0;display:flex;flex-wrap:wrap;gap:.3em .9em}
.grade .passed{color:#1a7f37}.grade .failed,.grade .timeout{color:#c1121f}
.grade .skipped{color:#8a6100}.grade .error{color:#7b2cbf}
.grade .diagnosis{border-left:4px solid #c1121f;background:#fdf1f1;padding:.5em .8em;margin:.7em 0}
.grade .failure{margin:.6em 0}.grade .failure p{margin:.1em 0 .1em 1.2em}
.grade .label{color:#666;margin-right:.5em}.grade .pictures{display:flex;flex-wrap:wrap;gap:1.6em}
.grade figure{margin:.6em 0}.grade figcaption{color:#555;font-size:.85rem}
.grade .pair{display:flex;gap:1em;flex-wrap:wrap;align-items:flex-start}
.grade svg{max-width:100%;height:auto}.grade svg.map{border:1px solid #bbb}
.grade svg.flow rect{fill:#f2f2f2;stroke:#999}.grade svg.flow line{stroke:#999}
.grade svg.flow .right rect{fill:#e3f4e6;stroke:#1a7f37}
.grade svg.flow .wrong rect{fill:#fbdcdd;stroke:#c1121f;stroke-width:2.5}
.grade svg.flow .input rect{fill:#fff}
.grade svg.flow text{font:13px system-ui,sans-serif;text-anchor:middle;dominant-baseline:central}
.grade pre{background:#f5f5f5;padding:.5em .8em;overflow:auto}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def render_page(document: Document, exhibits: Mapping[str, Sequence[Exhibit]]) -> str:
    """Return the whole page; it loads nothing and runs nothing."""
    title = escape(document.course)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{title}</title></head><body>\n"
        f"{render_fragment(document, exhibits)}\n</body></html>\n"
    )


def render_fragment(document: Document, exhibits: Mapping[str, Sequence[Exhibit]]) -> str:
    """Return the report as one element with its own style, for a page or a notebook's cell."""
    score = sum(result.score for result in document.results)
    possible = sum(result.max_score for result in document.results)
    parts = [f'<div class="grade"><style>{_STYLE}</style>']
    if len(document.results) != 1:
        parts.append(f"<h1>{escape(document.course)} {_points(score, possible)}</h1>")
    parts += [_exercise(result, exhibits.get(result.exercise, ())) for result in document.results]
    return "\n".join([*parts, "</div>"])


def render_exhibits(exhibits: Sequence[Exhibit]) -> str:
    """Return pictures alone as one element with its own style."""
    shown = [f"<h3><code>{escape(e.target)}</code></h3>{_exhibit(e)}" for e in exhibits]
    return f'<div class="grade"><style>{_STYLE}</style>{"".join(shown)}</div>' if shown else ""


def _points(score: float, possible: float) -> str:
    return f'<span class="points">{number(score)} / {number(possible)} points</span>'


def _exercise(result: ExerciseResult, exhibits: Sequence[Exhibit]) -> str:
    name = f"{escape(result.exercise)} · {escape(result.title)}"
    parts = [f"<h2>{name} {_points(result.score, result.max_score)}</h2>"]
    targets = list(dict.fromkeys(check.target for check in result.checks))
    if reason := sole_reason(result):
        parts.append(_failure(reason, named=False))
        targets = []
    for target in targets:
        checks = [check for check in result.checks if check.target == target]
        diagnoses = [d for d in worded(result.diagnoses) if d.target == target]
        shown = [exhibit for exhibit in exhibits if exhibit.target == target]
        parts.append(_target(target, checks, diagnoses, shown))
    if result.output:
        parts.append(f"<p>Your code printed:</p><pre>{escape(result.output)}</pre>")
    parts += [f"<p>Note: {escape(note)}.</p>" for note in result.notes]
    return "\n".join(parts)


def _target(
    name: str,
    checks: Sequence[CheckResult],
    diagnoses: Sequence[Diagnosis],
    exhibits: Sequence[Exhibit],
) -> str:
    score, possible = sum(c.score for c in checks), sum(c.max_score for c in checks)
    parts = [f"<section><h3><code>{escape(name)}</code> {_points(score, possible)}</h3>"]
    parts.append(f'<ul class="kinds">{"".join(_kinds(checks))}</ul>')
    for diagnosis in diagnoses:
        hint = f"<br><span class='label'>hint</span>{escape(diagnosis.hint)}"
        parts.append(
            f'<div class="diagnosis">{escape(diagnosis.evidence)}{hint if diagnosis.hint else ""}'
            "</div>"
        )
    parts += [_failure(check) for check in distinct_failures(checks)]
    parts += [_exhibit(exhibit) for exhibit in exhibits]
    return "\n".join([*parts, "</section>"])


def _kinds(checks: Sequence[CheckResult]) -> list[str]:
    items = []
    for kind in dict.fromkeys(check.kind for check in checks):
        own = [check for check in checks if check.kind is kind]
        status = Status.worst(check.status for check in own)
        points = f"{number(sum(c.score for c in own))}/{number(sum(c.max_score for c in own))}"
        items.append(
            f'<li><span class="{status}">{MARKS[status][0]}</span> {Kind(kind)} {points}</li>'
        )
    return items


def _failure(check: CheckResult, *, named: bool = True) -> str:
    name = check.id.split("/", 2)[2].replace("property/", "") if named else ""
    mark = f"{MARKS[check.status][0]} {escape(name)}".strip()
    parts = [
        f'<div class="failure"><span class="{check.status}">{mark}</span>{":" if named else ""} '
        f"{escape(ended(check.message))}"
    ]
    for label, text in (("case", shown_case(check)), ("next", check.next_step)):
        if text:
            parts.append(f'<p><span class="label">{label}</span>{escape(text)}</p>')
    return "".join([*parts, "</div>"])


def _exhibit(exhibit: Exhibit) -> str:
    parts = [f"<figcaption>case {escape(exhibit.case)}</figcaption>"]
    parts += [_panel(panel) for panel in exhibit.panels]
    pictures = f'<div class="panels">{"".join(parts)}</div>'
    drawing = _drawing(exhibit.drawing) if exhibit.drawing else ""
    return f'<div class="pictures">{drawing}{pictures}</div>'


def _drawing(drawing: Drawing) -> str:
    said = f"first wrong step: {drawing.wrong}" if drawing.wrong else "the steps"
    return f"<figure>{flow(drawing)}<figcaption>{escape(said)}</figcaption></figure>"


def _panel(panel: Panel) -> str:
    scale = panel_scale(panel)
    where = f" {panel.slice}" if panel.slice else ""
    expected = heat_map(panel.expected, scale, f"{panel.title}, expected")
    pair = [_map("expected", panel.expected_shape, expected)]
    if panel.actual is None or panel.actual_shape is None:
        pair.append("<figure><figcaption>nothing came</figcaption></figure>")
    else:
        actual = heat_map(panel.actual, scale, f"{panel.title}, yours")
        pair.append(_map("yours", panel.actual_shape, actual))
    title = f"<code>{escape(panel.title)}</code>{where}"
    return f'<div class="panel">{title}<div class="pair">{"".join(pair)}</div></div>'


def _map(label: str, shape: tuple[int, ...], picture: str) -> str:
    caption = f"<figcaption>{label} {escape(shown_shape(shape))}</figcaption>"
    return f"<figure>{picture}{caption}</figure>"
