"""Questions run on code: what they say comes out does, and what is missing is told kindly."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support import EXERCISES, ROOT, TESTS, solution

from grader.course.load import CourseFolder, load_course
from grader.course.questions import Question, read_questions
from grader.execute.launch import WarmProcess
from grader.grading.tried import Bench, Outcome, missing_part, try_question
from grader.handin.read import Source, Submission

Try = Callable[..., Outcome]
_COURSE = load_course(ROOT)
QUESTIONS = [
    pytest.param(exercise.id, question, id=f"{exercise.id}-{number}")
    for exercise in _COURSE.course.exercises
    for number, question in enumerate(read_questions(_COURSE, exercise), start=1)
]
_SOME = 4  # one variant of so many is tried by `make test`, all by `make soak`
VARIANTS = [
    pytest.param(
        *(exercise_id, path),
        id=f"{exercise_id}-{path.stem}",
        marks=[pytest.mark.long] if place % _SOME else [],
    )
    for exercise_id in EXERCISES
    if read_questions(_COURSE, _COURSE.course.exercise(exercise_id))
    for place, path in enumerate(sorted((TESTS / "variants" / exercise_id).glob("*.py")))
]


def text_of(exercise_id: str, *, stub: bool = False) -> str:
    file = _COURSE.course.exercise(exercise_id).file
    return (ROOT / ("exercises" if stub else "solutions") / file).read_text(encoding="utf-8")


def submission(texts: dict[str, str]) -> Submission:
    """Return the references of all exercises, but for those with a text of their own."""
    sources = {}
    for exercise in _COURSE.course.exercises:
        text = texts.get(exercise.id) or text_of(exercise.id)
        sources[exercise.id] = Source(exercise.file, units=((exercise.file, text),))
    return Submission(sources)


@pytest.fixture(scope="module")
def run(folder: CourseFolder, warm: WarmProcess) -> Try:
    """Return a function that tries a question of an exercise on texts by exercise."""

    def tried(exercise_id: str, question: Question, **texts: str) -> Outcome:
        exercise = folder.course.exercise(exercise_id)
        return try_question(Bench(folder, exercise, submission(texts), warm), question)

    return tried


def first_question(exercise_id: str) -> Question:
    return read_questions(_COURSE, _COURSE.course.exercise(exercise_id))[0]


def _question(exercise_id: str, title: str) -> Question:
    questions = read_questions(_COURSE, _COURSE.course.exercise(exercise_id))
    return next(one for one in questions if one.title == title)


# ---- the questions of the course -----------------------------------------------------------------


@pytest.mark.parametrize(("exercise_id", "question"), QUESTIONS)
def test_what_a_question_says_comes_out_of_the_reference(
    run: Try, exercise_id: str, question: Question
) -> None:
    outcome = run(exercise_id, question)
    assert outcome.trouble == ""
    assert outcome.held
    assert len(outcome.drawn) == len(question.shows)


@pytest.mark.parametrize(("exercise_id", "question"), QUESTIONS)
def test_question_on_a_stub_says_what_to_write_first(
    run: Try, exercise_id: str, question: Question
) -> None:
    outcome = run(exercise_id, question, **{exercise_id: text_of(exercise_id, stub=True)})
    assert outcome.trouble == f"this needs `{question.needs[0]}`, which is not written yet"
    assert outcome.remedy.startswith("write it, and run this again")


@pytest.mark.parametrize(("exercise_id", "path"), VARIANTS)
def test_what_questions_say_comes_out_of_other_right_code(
    run: Try, exercise_id: str, path: Path
) -> None:
    exercise = _COURSE.course.exercise(exercise_id)
    for question in read_questions(_COURSE, exercise):
        outcome = run(exercise_id, question, **{exercise_id: path.read_text(encoding="utf-8")})
        assert (question.title, outcome.trouble, outcome.held) == (question.title, "", True)


@pytest.mark.parametrize(("exercise_id", "question"), QUESTIONS)
def test_question_is_short_and_fits_a_terminal(exercise_id: str, question: Question) -> None:
    lines = question.lines.splitlines()
    assert len(lines) <= 8, exercise_id
    assert max(map(len, lines)) <= 92  # behind four blanks, in a hundred columns at most
    assert len(question.choices) == 3
    assert question.because.endswith(".")
    assert question.asks.endswith("?")


# ---- other code ----------------------------------------------------------------------------------


def test_question_on_a_later_part_needs_no_other(run: Try) -> None:
    """What is asked of `fold_heads` works while the module is not written."""
    text = text_of("exercise3", stub=True)
    written = text.replace(
        "    raise NotImplementedError\n",
        "    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2).flatten(0, 1)\n",
        1,
    )
    outcome = run("exercise3", first_question("exercise3"), exercise3=written)
    assert outcome.held


def test_wrong_code_does_not_show_what_is_said(run: Try) -> None:
    text = solution("exercise1").replace("def attention_weights(", "def unused(")
    text += "\ndef attention_weights(q, k, scale=None):\n    return (q @ k.mT).softmax(-1)\n"
    outcome = run("exercise1", first_question("exercise1"), exercise1=text)
    assert not outcome.held
    assert outcome.trouble == ""


def test_method_that_is_not_written_is_named(run: Try) -> None:
    text = solution("exercise3")
    begun, forward, _ = text.partition("        queries = self.to_queries(x)")
    assert forward
    text = f"{begun}        raise NotImplementedError\n"
    outcome = run("exercise3", _question("exercise3", "The price of a head"), exercise3=text)
    assert outcome.trouble == (
        "this needs `MultiHeadSelfAttention`, whose `forward` is not written yet"
    )


def test_heads_that_are_never_wide_are_not_what_is_due(run: Try) -> None:
    text = solution("exercise3").replace(
        "embed_dim // num_heads if head_dim is None else head_dim", "embed_dim // num_heads"
    )
    outcome = run("exercise3", _question("exercise3", "The price of a head"), exercise3=text)
    assert (outcome.held, outcome.trouble) == (False, "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import torch\nx = torch.oness(3)\n", "could not be loaded: AttributeError: "),
        ("def attention_weights(q, k, scale=None):\n    return q @ k\n",
         "your code raised RuntimeError: "),
        ("def attention_weights(q, k, scale=None):\n    while True: pass\n",
         "your code gave no answer: "),
        ("def attention_weights(q, k, scale=None):\n    return q.new_zeros(1, 1, 9, 9, 9)\n",
         "your code gives something that cannot be drawn"),
        ("def attention_weights(q, k, scale=None):\n    raise NotImplementedError\n",
         "this needs `attention_weights`, which is not written yet"),
        ("def attention_weights(q, k, scale=None):\n    return later(q)\n"
         "def later(q):\n    raise NotImplementedError('soon')\n",
         "this needs `attention_weights`, which is not written yet"),
        ("x = 1\n", "your code raised NameError: "),
    ],
    ids=["loading", "raises", "hangs", "no drawing", "stub", "inner stub", "absent"],
)  # fmt: skip
def test_trouble_is_told_in_a_sentence(
    run: Try, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.setattr("grader.grading.tried._SECONDS", 1.0)
    outcome = run("exercise1", first_question("exercise1"), exercise1=text)
    assert said in outcome.trouble
    assert bool(outcome.remedy) == ("not written" in said)  # else a check says more
    assert not outcome.held


def test_file_that_is_not_there_is_told(folder: CourseFolder) -> None:
    exercise = folder.course.exercise("exercise1")
    source = Source(exercise.file, problem="it is not there", next_step="put it there")
    outcome = missing_part(source, first_question("exercise1"))
    assert outcome == Outcome(trouble="it is not there", remedy="put it there")
