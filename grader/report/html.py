"""The report as one self-contained page, and as a fragment for notebooks."""

import re
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
.grade{--ink:#1c1c1c;--soft:#5f5f5f;--paper:#fff;--line:#ddd;--right:#1a7f37;--wrong:#c1121f;
--idle:#8a6100;--ours:#7b2cbf;--said:#fdf1f1;--box:#f2f2f2;--edge:#999;--good:#e3f4e6;
--bad:#fbdcdd;font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);
max-width:62rem;margin:0 auto;padding:1rem}
DARK
.grade h1,.grade h2,.grade h3{line-height:1.25;margin:1.4em 0 .4em;color:inherit}
.grade h1{font-size:1.5rem}.grade h3{font-size:1.05rem}
.grade h2{font-size:1.25rem;border-top:1px solid var(--line);padding-top:1em}
.grade>h2:first-of-type{border:0;padding:0}.grade>style+h2{margin-top:0}
.grade .points{float:right;font-weight:600}
.grade .kinds{list-style:none;padding:0;margin:.2em 0;display:flex;flex-wrap:wrap;gap:.3em .9em}
.grade code{background:none;color:inherit;padding:0}
.grade .passed{color:var(--right)}.grade .failed,.grade .timeout{color:var(--wrong)}
.grade .skipped{color:var(--idle)}.grade .error{color:var(--ours)}
.grade .diagnosis{border-left:4px solid var(--wrong);background:var(--said);padding:.5em .8em;
margin:.7em 0}
.grade .failure{margin:.6em 0}.grade .failure p{margin:.1em 0 .1em 1.2em}
.grade .label{color:var(--soft);margin-right:.5em}
.grade .pictures{display:flex;flex-wrap:wrap;gap:1.6em}
.grade figure{margin:.6em 0}.grade figcaption{color:var(--soft);font-size:.85rem}
.grade .pair{display:flex;gap:1em;flex-wrap:wrap;align-items:flex-start}
.grade svg{max-width:100%;height:auto}.grade svg.map{border:1px solid var(--edge)}
.grade svg.flow rect{fill:var(--box);stroke:var(--edge)}.grade svg.flow line{stroke:var(--edge)}
.grade svg.flow .right rect{fill:var(--good);stroke:var(--right)}
.grade svg.flow .wrong rect{fill:var(--bad);stroke:var(--wrong);stroke-width:2.5}
.grade svg.flow .input rect{fill:var(--paper)}
.grade svg.flow text{font:13px system-ui,sans-serif;text-anchor:middle;dominant-baseline:central;
fill:var(--ink)}
.grade pre{background:var(--box);color:inherit;padding:.5em .8em;overflow:auto}
"""
_DARK = (
    "{--ink:#e3e3e3;--soft:#a3a3a3;--paper:#16181b;--line:#3c3f44;--right:#56d364;--wrong:#ff7b72;"
    "--idle:#e3b341;--ours:#d2a8ff;--said:#33191a;--box:#26292e;--edge:#6e7681;--good:#12331b;"
    "--bad:#4a1d1f}"
)
# a notebook's own theme counts there: JupyterLab, VS Code, Colab
_DARK_PLACES = (
    'body[data-jp-theme-light="false"] .grade,body.vscode-dark .grade,html[theme="dark"] .grade'
)
_STYLE = _STYLE.replace("DARK", f"{_DARK_PLACES}{_DARK}")
# a page of its own follows the reader's system
_PAGE_STYLE = (
    "body{margin:0}@media (prefers-color-scheme:dark){body{background:#16181b}.grade" + _DARK + "}"
)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_QUOTED = re.compile("`([^`]+)`")


def render_page(document: Document, exhibits: Mapping[str, Sequence[Exhibit]]) -> str:
    """Return the whole page; it loads nothing and runs nothing."""
    title = escape(document.course)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{title}</title></head><body>\n{render_fragment(document, exhibits)}\n"
        f"<style>{_PAGE_STYLE}</style></body></html>\n"
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


def _prose(text: str) -> str:
    """A sentence with what stands in backticks set as code."""
    return _QUOTED.sub(r"<code>\1</code>", escape(text))


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
    parts += [f"<p>Note: {_prose(note)}.</p>" for note in result.notes]
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
        hint = f"<br><span class='label'>hint</span>{_prose(diagnosis.hint)}"
        parts.append(
            f'<div class="diagnosis">{_prose(diagnosis.evidence)}{hint if diagnosis.hint else ""}'
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
        f"{_prose(ended(check.message))}"
    ]
    step = ended(check.next_step) if check.next_step else ""
    for label, text in (("case", shown_case(check)), ("next", step)):
        if text:
            parts.append(f'<p><span class="label">{label}</span>{_prose(text)}</p>')
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
