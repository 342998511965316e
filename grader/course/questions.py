"""Questions to a lesson: guess what comes out, then run some lines on your own code.

One file an exercise, `questions/exercise1.yml` beside course.yml; students get it in their bundle.
"""

import ast
import textwrap
from typing import Literal

from pydantic import Field, TypeAdapter, field_validator, model_validator

from grader.course.load import CourseFolder, parse_yaml
from grader.course.models import Exercise
from grader.course.record import Record, error_at
from grader.course.shipped import KEY_FOLDER, read_bundle_manifest, read_part
from grader.errors import CourseError

FOLDER = "questions"


class Question(Record):
    """A question with an answer to guess, and the lines that give the answer."""

    title: str = Field(description="a few words")
    asks: str = Field(description="the question; the lesson is enough to answer it")
    choices: list[str] = Field(
        min_length=2, max_length=5, description="what may come out, each without a full stop"
    )
    answer: int = Field(ge=1, description="which choice comes out, counted from 1")
    needs: list[str] = Field(
        min_length=1, description="targets of the exercise that have to be written before"
    )
    lines: str = Field(description="Python that is run behind the student's own code")
    shows: dict[str, str] = Field(
        min_length=1,
        description="what is drawn, by its caption: expressions over the names of `lines`, each a "
        "number, a row of them or a table",
    )
    draw: Literal["bars", "map", "table"] = Field(
        description="bars: one for each number; map: squares, darker for larger; table: numbers"
    )
    columns: list[str] = Field(default=[], description="names of the bars, or of a table's columns")
    rows: list[str] = Field(default=[], description="names of a table's rows")
    when: str = Field(description="an expression that is true where `answer` is what came out")
    because: str = Field(description="what was to be seen, and why, told after the run")

    @field_validator("lines")
    @classmethod
    def _is_code(cls, text: str) -> str:
        try:
            ast.parse(text)
        except SyntaxError as error:
            raise ValueError(f"line {error.lineno} is no Python: {error.msg}") from None
        return text

    @model_validator(mode="after")
    def _expressions_can_be_read(self) -> "Question":
        places: list[tuple[tuple[str, ...], str]] = [
            (("shows", name), text) for name, text in self.shows.items()
        ]
        for place, text in [*places, (("when",), self.when)]:
            try:
                ast.parse(text.strip(), mode="eval")
            except SyntaxError:
                raise error_at(place, f"'{text}' is no expression of Python") from None
        if self.answer > len(self.choices):
            raise error_at(("answer",), f"there are {len(self.choices)} choices only")
        return self

    def as_function(self, name: str) -> str:
        """Return the text of a function that runs the lines and returns what they show.

        It returns a dict of tensors, by places: "0", "1", and "when" for whether `answer` came out.
        """
        shown = [f'"{n}": torch.as_tensor({text})' for n, text in enumerate(self.shows.values())]
        shown.append(f'"when": torch.as_tensor(bool({self.when}))')
        body = f"{self.lines.rstrip()}\nreturn {{{', '.join(shown)}}}\n"
        return f"import torch\ndef {name}():\n{textwrap.indent(body, '    ')}"


def question_file(exercise: Exercise) -> str:
    """Return the name of an exercise's questions, below a course or below a bundle's key."""
    return f"{FOLDER}/{exercise.id}.yml"


def read_questions(folder: CourseFolder, exercise: Exercise) -> list[Question]:
    """Read an exercise's questions, [] where it has none; raises CourseError."""
    if not (text := question_text(folder, exercise)):
        return []
    path = folder.root / question_file(exercise)
    questions = parse_yaml(text, str(path), TypeAdapter(list[Question]), list[Question])
    targets = [target.name for target in exercise.targets]
    for question in questions:
        for name in question.needs:
            if name not in targets:
                raise CourseError(
                    f"{path}: {question.title}: '{name}' is no target of {exercise.id}"
                )
    return questions


def question_text(folder: CourseFolder, exercise: Exercise) -> str:
    """Return the text of an exercise's questions, "" where it has none; raises CourseError."""
    if folder.shipped:
        manifest, name = read_bundle_manifest(folder), f"{KEY_FOLDER}/{question_file(exercise)}"
        return read_part(folder, manifest, name).decode() if name in manifest.files else ""
    path = folder.root / question_file(exercise)
    try:
        return path.read_text(encoding="utf-8") if path.is_file() else ""
    except (OSError, UnicodeDecodeError):
        raise CourseError(f"{path}: cannot be read as UTF-8 text") from None
