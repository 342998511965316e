"""What is known where a submission raised: the error, its line and the sizes of the case."""

import ast
import re
from dataclasses import dataclass
from functools import cached_property
from math import prod

from grader.compare.evidence import Evidence
from grader.compare.statement import Statement, find_statement
from grader.course.expressions import TensorSpec
from grader.course.models import Target
from grader.course.traps import Trap
from grader.handin.syntax import parse
from grader.records.answers import StudentError
from grader.records.calls import DrawnCase


@dataclass(frozen=True)
class Reason:
    """Why an exception came, with what to do about it."""

    text: str
    trap: Trap | None = None  # where a lesson may speak of it


@dataclass(frozen=True)
class Rearranged:
    """A function of the exercise that takes rows of one length and gives rows of another."""

    name: str
    written: str  # the shape that it takes, in the course's letters
    taken: tuple[int, ...]
    given: tuple[int, ...]


@dataclass(frozen=True)
class Scene:
    """An exception of a submission's in the public split, whose text may be read."""

    evidence: Evidence
    error: StudentError
    case: DrawnCase | None

    @cached_property
    def line(self) -> Statement:
        """The submission's own statement that raised it."""
        return find_statement(self.evidence.source, self.error)

    @cached_property
    def code(self) -> str:
        """The text of its line, "" where nobody knows it."""
        own = [f for f in self.error.frames if self.evidence.source.holds(f.label)]
        return self.evidence.source.line(own[-1].label, own[-1].line) if own else ""

    def line_of(self, number: int) -> str:
        """Return the text of a line of the same file or cell."""
        return self.evidence.source.line(self.error.frames[-1].label, number)

    @cached_property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of the first tensor that the target is given; () where there is none."""
        specs = self.evidence.target.input_specs.values()
        tensor = next((s for s in specs if isinstance(s, TensorSpec) and s.kind == "float"), None)
        return self._sized(tensor) if tensor else ()

    def defines(self, name: str) -> bool:
        """Whether a class or function of that name is written in the file itself."""
        written = re.compile(rf"^[ \t]*(class|def)[ \t]+{re.escape(name)}\b", re.MULTILINE)
        return any(written.search(text) for _, text in self.evidence.source.units)

    @property
    def attributes(self) -> list[str]:
        """The attributes that the file sets."""
        return self.attributes_of("")

    def attributes_of(self, owner: str) -> list[str]:
        """Return the attributes that a class of the file sets, all where none is named."""
        trees = [tree for _, text in self.evidence.source.units if (tree := parse(text))]
        inside = [
            node
            for tree in trees
            for node in ast.walk(tree)
            if not owner or (isinstance(node, ast.ClassDef) and node.name == owner)
        ]
        nodes = [n for one in inside for n in (ast.walk(one) if owner else (one,))]
        stored = [n for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
        return sorted({node.attr for node in stored})

    def sets(self, attribute: str) -> bool:
        """Whether the file sets an attribute of that name, or may do so by its name."""
        trees = [parse(text) for _, text in self.evidence.source.units]
        nodes = [node for tree in trees if tree for node in ast.walk(tree)]
        return (
            None in trees
            or attribute in self.attributes
            or any(isinstance(n, ast.Constant) and n.value == attribute for n in nodes)
        )

    @property
    def input_rows(self) -> int:
        """How many vectors that tensor holds."""
        return prod(self.input_shape[:-1]) if self.input_shape else 0

    def rearranging(self, taken: tuple[int, int], given: tuple[int, int]) -> Rearranged | None:
        """Return the function of the exercise that makes rows of one kind of those of another.

        Both are counts: rows, and numbers in a row.
        """
        for target in self.evidence.exercise.targets:
            if target is self.evidence.target or len(target.outputs) != 1:
                continue
            found = self._rearranged(target)
            if found and _rows(found.taken) == taken and _rows(found.given) == given:
                return found
        return None

    def _rearranged(self, target: Target) -> Rearranged | None:
        specs = [s for s in target.input_specs.values() if isinstance(s, TensorSpec)]
        out = next(iter(target.output_specs.values()))
        if len(specs) != 1 or not (came := self._sized(specs[0])) or not (due := self._sized(out)):
            return None
        written = ", ".join(axis.text for axis in specs[0].axes)
        return Rearranged(target.name, f"({written})", came, due)

    def _sized(self, spec: TensorSpec) -> tuple[int, ...]:
        if self.case is None or not spec.names() <= set(self.case.dims):
            return ()
        return spec.shape(self.case.dims)


def _rows(shape: tuple[int, ...]) -> tuple[int, int]:
    return prod(shape[:-1]), shape[-1]
