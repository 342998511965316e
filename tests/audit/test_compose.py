"""What compositions are made of is what it says, and a verdict finds what is not so."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from support import EXERCISES, ROOT, RunGrade

from grader.audit.compose.bench import Stand, ToShrink, draw_compositions, open_stand
from grader.audit.compose.material import Composition, Material, Plant
from grader.audit.compose.verdict import Report, judge_report
from grader.course.load import CourseFolder
from grader.execute.launch import WarmProcess
from grader.key.cache import Keys
from grader.key.reference import reference_imports
from grader.records.results import Diagnosis, State, Status

pytestmark = pytest.mark.long  # compositions are judged with pairs of bugs
CLOSE = 1e-9
OpenStand = Callable[[str], Stand]


@pytest.fixture(scope="module")
def stand(folder: CourseFolder, keys: Keys, warm: WarmProcess) -> Iterator[OpenStand]:  # noqa: ARG001
    """Return a function that opens what judges compositions of one exercise."""
    opened: dict[str, Stand] = {}

    def open_one(name: str) -> Stand:
        if name not in opened:
            opened[name] = open_stand(folder, name, warm)
        return opened[name]

    with reference_imports(folder):
        yield open_one


def _plain(material: Material, *plants: Plant, **chosen: str) -> Composition:
    """The plain composition but for some styles; those that a plant needs are chosen, too."""
    styles = {style: next(iter(options)) for style, options in material.styles.items()}
    for plant in plants:
        styles |= {style: options[0] for style, options in material.change(plant).when.items()}
    return Composition(tuple((styles | chosen).items()), plants)


def _plant(material: Material, group: str, name: str) -> Plant:
    return next(plant for plant in material.plants(group) if str(plant) == name)


# ---- the material -------------------------------------------------------------------------------


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_style_is_right(stand: OpenStand, exercise: str) -> None:
    bench = stand(exercise)
    wrong = []
    for style, options in bench.material.styles.items():
        for option in options:
            made = _plain(bench.material, **{style: option})
            runs = [r for t in bench.exercise.targets for r in bench.oracle.own_runs(made, t.name)]
            if not all(one.agrees(other, CLOSE) for one, other in runs):
                wrong.append(f"{style}/{option}")
    assert wrong == []


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_bug_acts_and_every_deviation_changes_the_text(
    stand: OpenStand, exercise: str
) -> None:
    bench = stand(exercise)
    idle = []
    for plant in bench.material.plants("bugs"):
        truth = bench.oracle.truth(_plain(bench.material, plant), plant.target)
        idle += [] if truth.acting == {plant.id} else [str(plant)]
    for plant in bench.material.plants("deviations"):
        made = _plain(bench.material, plant)
        same = bench.material.text(made) == bench.material.text(made.without(plant))
        idle += [str(plant)] if same else []
    assert idle == []


def test_bugs_that_hide_each_other_are_known(stand: OpenStand) -> None:
    bench = stand("exercise3")
    names = ("causal-mask", "no-output-projection")
    plants = [_plant(bench.material, "bugs", f"MultiHeadSelfAttention/{n}") for n in names]
    dead = _plant(bench.material, "bugs", "fold_heads/transpose-discarded")
    made = _plain(bench.material, *plants, dead, heads="four-axes")
    truth = bench.oracle.truth(made, "MultiHeadSelfAttention")
    assert truth.acting == set(names)  # the third is in a function that nothing calls
    assert truth.calls == set()


def test_mistakes_that_hide_each_other_both_act(stand: OpenStand) -> None:
    bench = stand("exercise2")
    names = ("QKVProjection/values-from-keys", "AttentionHead/keys-as-values")
    made = _plain(bench.material, *(_plant(bench.material, "bugs", name) for name in names))
    truth = bench.oracle.truth(made, "AttentionHead")
    assert truth.acting == {"values-from-keys", "keys-as-values"}


def test_of_a_module_that_takes_no_parameters_only_relations_show(stand: OpenStand) -> None:
    """Its values are as drawn at construction: an activation does not show in them."""
    bench = stand("exercise7")
    names = [f"build_classifier/{n}" for n in ("depth-wrong", "activation-wrong")]
    deep, activation = (_plant(bench.material, "bugs", name) for name in names)
    beside = bench.oracle.truth(_plain(bench.material, deep, activation), activation.target)
    assert beside.acting == {"depth-wrong"}
    alone = bench.oracle.truth(_plain(bench.material, activation), activation.target)
    assert alone.acting == {"activation-wrong"}
    dropout = _plant(bench.material, "bugs", "build_classifier/dropout-not-passed")
    both = bench.oracle.truth(_plain(bench.material, deep, dropout), activation.target)
    assert both.acting == {"depth-wrong", "dropout-not-passed"}


@pytest.mark.parametrize("names", ["told", "words"])
def test_one_layer_registers_as_many_numbers_as_one_that_is_used_again(
    stand: OpenStand, names: str
) -> None:
    """Whatever its names: what a factory builds does not fit where a width is another."""
    bench = stand("exercise7")
    bugs = [f"build_classifier/{n}" for n in ("depth-ignored", "hidden-width-wrong")]
    made = _plain(
        bench.material, *(_plant(bench.material, "bugs", bug) for bug in bugs), names=names
    )
    as_many = partial(bench.oracle.registers_as, made, "build_classifier")
    assert as_many(["layers-shared", "hidden-width-wrong"])
    assert not as_many(["layers-shared"])
    assert not as_many(["hidden-width-wrong"])


def test_mistakes_that_undo_each_other_are_none(stand: OpenStand) -> None:
    """The scores that come back are normalized after all."""
    bench = stand("exercise1")
    names = [f"self_attention/{n}" for n in ("softmax-missing", "softmax-twice")]
    both = [_plant(bench.material, "bugs", name) for name in names]
    assert bench.oracle.truth(_plain(bench.material, *both), "self_attention").acting == set()
    alone = bench.oracle.truth(_plain(bench.material, both[0]), "self_attention")
    assert alone.acting == {"softmax-missing"}


def test_an_order_that_no_name_tells_is_no_mistake(stand: OpenStand) -> None:
    bench = stand("exercise2")
    plant = _plant(bench.material, "bugs", "QKVProjection/wrong-return-order")
    unnamed = bench.oracle.truth(_plain(bench.material, plant, names="nothing"), plant.target)
    assert unnamed.acting == set()
    assert unnamed.right
    named = bench.oracle.truth(_plain(bench.material, plant, names="letters"), plant.target)
    assert named.acting == {plant.id}


def test_what_one_exercise_is_composed_of_touches_no_other(stand: OpenStand) -> None:
    """Exercise 3 imports exercise 1: the course's own, and no composition of it."""
    first, later = stand("exercise1"), stand("exercise3")
    plant = _plant(first.material, "bugs", "scaled_dot_product_attention/keys-as-values")
    first.oracle.truth(_plain(first.material, plant), plant.target)
    made = _plain(later.material, heads="by-exercise-1")
    runs = later.oracle.own_runs(made, "MultiHeadSelfAttention")
    plain = later.oracle.own_runs(_plain(later.material), "MultiHeadSelfAttention")
    pairs = [(one, other) for (_, one), (_, other) in zip(runs, plain, strict=True)]
    assert all(one.agrees(other, CLOSE) for one, other in pairs)


# ---- drawing ------------------------------------------------------------------------------------


def test_a_seed_draws_the_same_distinct_compositions(stand: OpenStand) -> None:
    material = stand("exercise4").material
    texts = [[material.text(made) for made in draw_compositions(material, 3, 12)] for _ in "ab"]
    assert texts[0] == texts[1]
    assert len(set(texts[0])) == 12


def test_the_same_plants_are_drawn_once(stand: OpenStand) -> None:
    """Rates would else be those of the few that Hypothesis varies."""
    made = draw_compositions(stand("exercise4").material, 3, 60)
    plants = [frozenset(one.plants) for one in made if len(one.plants) > 1]
    assert len(plants) == len(set(plants))


def test_what_fails_is_made_smaller(stand: OpenStand, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = stand("exercise4")

    def has(made: Composition) -> bool:
        return dict(made.styles)["names"] == "ways"

    failing = frozenset(filter(has, draw_compositions(bench.material, 3, 12)))
    assert failing
    monkeypatch.setattr(Stand, "has", lambda _, made, __: has(made))
    found = bench.shrink(ToShrink("exercise4", "-", "FeedForward", 3, 12, failing))
    assert found.smallest.made == _plain(bench.material, names="ways")


# ---- verdicts -----------------------------------------------------------------------------------


@pytest.fixture
def reported(stand: OpenStand) -> Callable[..., tuple[Any, Composition, Report]]:
    """Return a function that grades a composition of one exercise."""

    def report(exercise: str, *names: str, **styles: str) -> tuple[Any, Composition, Report]:
        bench = stand(exercise)
        plants = []
        for name in names:
            group, _, rest = name.partition(" ")
            plants.append(_plant(bench.material, group, rest))
        made = _plain(bench.material, *plants, **styles)
        return bench.oracle, made, bench.report(bench.material.text(made))

    return report


def _kinds(oracle: Any, made: Composition, report: Report) -> set[str]:
    return {fault.kind for fault in judge_report(oracle, made, report).faults}


def _with(report: Report, **changes: Any) -> Report:
    """The report with something else in its last diagnosis, made where there is none."""
    known = report.result.diagnoses
    last = report.result.checks[-1].target
    diagnosis = known[-1] if known else Diagnosis(last, (), "", "", "")
    changed = (*known[:-1], replace(diagnosis, **changes))
    return replace(report, result=replace(report.result, diagnoses=changed))


def test_a_report_that_says_what_is_so_has_no_fault(reported: Callable[..., Any]) -> None:
    oracle, made, report = reported("exercise4", "bugs FeedForward/activation-last")
    verdict = judge_report(oracle, made, report)
    assert verdict.faults == ()
    (naming,) = verdict.namings
    assert naming.acting == naming.named == {"activation-last"}


def test_a_name_that_was_not_planted_is_a_fault(reported: Callable[..., Any]) -> None:
    oracle, made, report = reported("exercise4", "bugs FeedForward/activation-last")
    false = _with(report, bugs=("activation-first",))
    assert "a name that is not so" in _kinds(oracle, made, false)
    verdict = judge_report(oracle, made, false)
    assert verdict.namings[0].named == set()


def test_another_name_for_what_was_planted_is_none(reported: Callable[..., Any]) -> None:
    oracle, made, report = reported("exercise3", "bugs fold_heads/fold-without-transpose")
    equal = _with(report, bugs=("transpose-discarded",))
    assert "a name that is not so" not in _kinds(oracle, made, equal)


def test_where_a_deviation_is_told_one_mistake_may_be_another(
    reported: Callable[..., Any],
) -> None:
    planted = ("bugs attention_weights/scale-by-dim", "deviations attention_weights/scale-unheard")
    oracle, made, _ = reported("exercise1", *planted)
    same = partial(oracle.stands_for, made, "attention_weights", "scale-applied-twice")
    assert same() == set()
    assert same(without={"scale"}) == {"scale-by-dim"}


def test_what_two_mistakes_come_to_in_training_mode_may_have_another_name(
    reported: Callable[..., Any],
) -> None:
    planted = ("bugs FeedForward/dropout-missing", "bugs FeedForward/dropout-twice")
    oracle, made, _ = reported("exercise4", *planted)
    assert oracle.behaves_as(made, "FeedForward", "dropout-on-hidden")
    assert not oracle.behaves_as(made, "FeedForward", "dropout-missing")


def test_one_of_three_is_named_by_the_cases_that_it_alone_explains(stand: OpenStand) -> None:
    bench = stand("exercise11")
    names = ("context-overflows", "first-position", "one-too-few")
    plants = [_plant(bench.material, "bugs", f"generate/{name}") for name in names]
    made = _plain(bench.material, *plants)
    found = next(d for d in bench.report(bench.material.text(made)).result.diagnoses)
    assert set(found.bugs) <= set(names)
    assert found.bugs
    assert re.search(r"\d+ cases are wrong. In \d+ of them your output equals", found.evidence)
    assert bench.judge(made).verdict.faults == ()


def test_points_lost_for_nothing_are_a_fault(reported: Callable[..., Any]) -> None:
    oracle, made, report = reported("exercise4")
    assert _kinds(oracle, made, report) == set()
    first, *rest = report.result.checks
    poor = replace(report.result, checks=(replace(first, score=0.0), *rest))
    assert "right code loses points" in _kinds(oracle, made, replace(report, result=poor))


def test_points_for_idle_code_are_a_fault(reported: Callable[..., Any]) -> None:
    oracle, made, report = reported("exercise4", "idle FeedForward/zeros")
    assert _kinds(oracle, made, report) == set()
    rich = tuple(replace(check, score=check.max_score) for check in report.result.checks)
    paid = replace(report, result=replace(report.result, checks=rich))
    assert _kinds(oracle, made, paid) == {"idle code earns points"}


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"evidence": "Step by step: hidden ✓ activated ✓"}, "check: a step is ✓ that is wrong"),
        (
            {"step": "projected", "hint": "The values of the steps before are right: look on."},
            "'everything up to there is right' is not so",
        ),
    ],
    ids=["mark", "words"],
)
def test_steps_that_are_wrong_and_called_right_are_a_fault(
    reported: Callable[..., Any], changes: dict[str, Any], kind: str
) -> None:
    oracle, made, report = reported("exercise4", "bugs FeedForward/activation-missing")
    assert kind in _kinds(oracle, made, _with(report, bugs=(), **changes))


def test_a_trace_that_shows_a_wrong_step_as_right_is_a_fault(reported: Callable[..., Any]) -> None:
    oracle, made, report = reported("exercise4", "bugs FeedForward/activation-missing")
    trace = report.traces["FeedForward"]
    steps = tuple(replace(step, state=State.RIGHT) for step in trace.steps)
    false = replace(report, traces={"FeedForward": replace(trace, steps=steps)})
    assert "explain: a step is ✓ that is wrong" in _kinds(oracle, made, false)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("no gradient reaches the parameter `linear1.weight`", "'no gradient reaches' is not so"),
        (
            "`FeedForward` uses `EncoderLayer`, which is not right yet",
            "'uses ...: start there' is not so",
        ),
    ],
    ids=["gradient", "uses"],
)
def test_sentences_that_are_not_so_are_faults(
    reported: Callable[..., Any], message: str, kind: str
) -> None:
    oracle, made, report = reported("exercise4", "bugs FeedForward/activation-missing")
    first, *rest = report.result.checks
    checks = (replace(first, message=message, status=Status.FAILED), *rest)
    false = replace(report, result=replace(report.result, checks=checks))
    assert kind in _kinds(oracle, made, false)


@pytest.mark.parametrize(
    "said",
    [
        "its numbers are float32's where the input is float64",
        "`lin`, used as `expand`, has no bias",
    ],
)
def test_a_deviation_that_was_not_planted_is_a_fault(
    reported: Callable[..., Any], said: str
) -> None:
    oracle, made, report = reported("exercise4", "bugs FeedForward/activation-missing")
    false = _with(report, deviations=(said,))
    assert "a deviation that is not so" in _kinds(oracle, made, false)


def test_a_name_that_no_value_shows_needs_to_be_planted(reported: Callable[..., Any]) -> None:
    oracle, made, report = reported("exercise4", "deviations FeedForward/dropout-by-default")
    assert _kinds(oracle, made, report) == set()
    false = _with(report, bugs=("dropout-of-rows",))
    assert "a name that is not so" in _kinds(oracle, made, false)


def test_equals_is_a_fault_where_a_case_has_no_output(reported: Callable[..., Any]) -> None:
    oracle, made, report = reported("exercise6", "bugs LearnedPositionEmbedding/positions-from-one")
    false = _with(report, evidence="Your output equals what comes out when the sun shines.")
    assert "'equals' of code without an output" in _kinds(oracle, made, false)


def test_a_hint_on_something_else_is_a_fault(reported: Callable[..., Any]) -> None:
    oracle, made, report = reported("exercise4", "bugs FeedForward/activation-missing")
    assert report.advice is not None
    other = replace(report, advice=replace(report.advice, finding="It rains."))
    assert "hint and check disagree" in _kinds(oracle, made, other)
    silent = replace(report, advice=replace(report.advice, hints=()))
    assert "hint is empty" in _kinds(oracle, made, silent)
    assert "hint and check disagree" in _kinds(oracle, made, replace(report, advice=None))


# ---- the command --------------------------------------------------------------------------------


def test_compose_judges_a_few_of_every_exercise(run_grade: RunGrade) -> None:
    status, out, err = run_grade("audit", "--compose", "35", "--json", "--course", str(ROOT))
    assert all(line.startswith("building answer keys: ") for line in err.splitlines())
    judged = json.loads(out)
    assert judged["count"] == 35
    assert status == (1 if judged["problems"] else 0)
    assert {fault["exercise"] for fault in judged["faults"]} <= set(EXERCISES)
