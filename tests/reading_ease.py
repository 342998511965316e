"""Flesch's reading ease of what students read: lessons, questions, and the hints of known bugs.

Higher is easier: 60 to 70 is plain English, 30 is a scientific paper. Sentences end with a full
stop, a question mark or an exclamation mark. A formula counts as one short word, and so does what
stands in backticks. Syllables are counted by a rule: groups of vowels, without a silent e.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from grader.course.bugs import load_bugs
from grader.course.derive import derive_stub, read_solution
from grader.course.lesson import read_lesson
from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.course.questions import read_questions

_ASIDE = re.compile(r"\$[^$]*\$|`[^`]*`")  # formulas and code
_END = re.compile(r"[.!?]+(?=\s|$)")
_WORD = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*")
_SILENT = re.compile(r"(?<=[^aeiouyl])e$|(?<=[aeiouy]l)e$|(?<=[^aeioutd])ed$")


@dataclass(frozen=True)
class Ease:
    """The reading ease of one text."""

    words: int
    sentences: int
    syllables: int

    @property
    def flesch(self) -> float:
        """The figure (Flesch 1948)."""
        length, weight = self.words / self.sentences, self.syllables / self.words
        return 206.835 - 1.015 * length - 84.6 * weight


def ease_of(passages: Iterable[str]) -> Ease:
    """Measure a text, given in passages: a passage ends a sentence, with or without a full stop."""
    words: list[str] = []
    sentences = 0
    for passage in passages:
        told = [_WORD.findall(part) for part in _END.split(_ASIDE.sub("it", passage))]
        sentences += sum(bool(part) for part in told)
        words += [word for part in told for word in part]
    return Ease(len(words), sentences, sum(map(syllables, words)))


def syllables(word: str) -> int:
    """Return about how many syllables a word has."""
    return max(1, len(re.findall(r"[aeiouy]+", _SILENT.sub("", word.lower()))))


def ease_of_lesson(folder: CourseFolder, exercise: Exercise) -> Ease:
    """Measure a lesson."""
    stub = derive_stub(read_solution(folder.solutions / exercise.file))
    return ease_of(passage.text for passage in read_lesson(stub))


def ease_of_questions(folder: CourseFolder, exercise: Exercise) -> Ease | None:
    """Measure what is asked and told of an exercise's questions, None where it has none."""
    asked = read_questions(folder, exercise)
    texts = [text for one in asked for text in (one.asks, *one.choices, one.because)]
    return ease_of(texts) if texts else None


def ease_of_hints(folder: CourseFolder, exercise: Exercise) -> Ease:
    """Measure what is said of an exercise's known bugs: its sentences and hints."""
    source = read_solution(folder.solutions / exercise.file)
    bugs = load_bugs(folder, exercise, source)
    own = [one.when for bug in bugs for one in bug.also if one.when]
    return ease_of([*own, *(text for bug in bugs for text in (bug.when, *bug.every_hint))])
