"""A property that means nothing for its target would give points for nothing: it is an error."""

import pytest
from small import course_text

from grader.course.load import parse_course
from grader.errors import CourseError

MEANINGLESS = {
    "independent of no dim": ("kind: independent, dim: z", "no input has an axis 'z'"),
    "independent of an input's dim": ("kind: independent, dim: t", "no output has an axis 't'"),
    "independent of an output's dim": ("kind: independent, dim: m", "no input has an axis 'm'"),
    "independent of part of an axis": ("kind: independent, dim: h", "no input has an axis 'h'"),
    "equivariant in no dim": ("kind: equivariant, dim: z", "no input has an axis 'z'"),
    "reusable in no dim": ("kind: reusable, dims: [b, z]", "it has no dim 'z'"),
    "reusable in a fixed dim": ("kind: reusable, dims: [m]", "the dim 'm' is no range"),
    "reusable in a dim of outputs": ("kind: reusable, dims: [c]", "no input reads the dim 'c'"),
    "rows along no axis": ("kind: rows-sum-to-one, axis: 2", "`output` has no axis 2"),
    "names of which none is forbidden": ("kind: allowed", "nothing is forbidden"),
    "parameters of a function": ("kind: registered", "a function has no parameters"),
    "training of a function": ("kind: trained", "a function has no parameters"),
    "a function as it is made": (
        "kind: agrees, as_made: true, case: {name: made}", "`as_made` is for modules",
    ),
    "parts of no factory": (
        "kind: agrees, earlier: stand-ins, case: {name: parts}", "`earlier` is for factories",
    ),
}  # fmt: skip
TARGET = """\
        dims: {b: 2..4, t: 5..6, h: 2..3, m: 7, c: 8..9}
        inputs: {x: "float[b, t, h*2]"}
        outputs: {output: "float[b, m*c]"}
"""


@pytest.mark.parametrize(("given", "said"), MEANINGLESS.values(), ids=MEANINGLESS)
def test_property_that_means_nothing_for_its_target_is_an_error(given: str, said: str) -> None:
    text = course_text("square", f"{{{given}}}")
    start, end = text.index("        dims:"), text.index("        properties:")
    text = text[:start] + TARGET + text[end:]
    with pytest.raises(CourseError) as caught:
        parse_course(text, "course.yml")
    place, _, told = str(caught.value).partition(" means nothing for square: ")
    assert place.startswith("course.yml:18: exercises[0].targets[0].properties[0]: the property ")
    assert told == said


@pytest.mark.parametrize(
    ("given", "points", "said"),
    [
        ("kind: trained", "gradient: 0", "the target has no points for gradients"),
        ("kind: dtype", "gradient: 1", "no output is of floats"),
        ("kind: device", "gradient: 1", "no input is a tensor"),
        ("kind: device, argument: device", "gradient: 1", "`argument` is for functions"),
        ("kind: inputs-unchanged", "gradient: 1", "no input is a tensor"),
        (
            "kind: agrees, strided: true, case: {name: views}", "gradient: 1",
            "no input is a tensor",
        ),
    ],
    ids=["trained", "dtype", "device", "device told", "inputs unchanged", "strided"],
)  # fmt: skip
def test_property_of_a_module_that_means_nothing_is_an_error(
    given: str, points: str, said: str
) -> None:
    text = course_text("square", f"{{{given}}}")
    text = text.replace('x: "float[t, k]"', "size: k").replace("kind: function", "kind: module")
    text = text.replace('"float[t, k]"', '"int[t] < k"').replace("numeric: 2", points)
    with pytest.raises(CourseError, match=f"means nothing for square: {said}$"):
        parse_course(text, "course.yml")


def test_property_of_all_targets_is_left_out_where_it_means_nothing() -> None:
    general = (
        "every_target:\n  - {kind: independent, dim: z}\n  - {kind: independent, id: t, dim: t}"
    )
    text = course_text("square", "{kind: dtype}")
    text = text.replace("exercises:", f"{general}\nexercises:")
    course = parse_course(text, "course.yml")
    (exercise,) = course.exercises
    assert [p.name for p in course.properties(exercise, exercise.targets[0])] == ["dtype", "t"]
