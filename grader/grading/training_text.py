"""What of a submission a training reads, so that an edit elsewhere leaves its result as it is."""

import ast
from collections.abc import Iterator, Sequence

from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.execute.session import Job
from grader.grading.jobs import Standins, job_of
from grader.handin.read import Submission
from grader.handin.syntax import parse, reached
from grader.worker.protocol import Earlier, Units

_LAYERS = ("nn.Module", "torch.nn.Module")  # classes that do nothing when others build on them
_PLAIN_DECORATORS = ("staticmethod", "classmethod", "property")


def read_by_trainings(
    folder: CourseFolder, exercise: Exercise, submission: Submission
) -> dict[str, str]:
    """Return by target what its training reads of a submission."""
    trained = [target.name for target in exercise.targets if target.trains]
    if not trained:
        return {}
    job = job_of(folder, exercise, Earlier.OWN, Standins({}), submission)
    return {target: _read_by_training(job, target) for target in trained}


def _read_by_training(job: Job, target: str) -> str:
    """Return all that can move what training a target comes to, as text; comments cannot.

    Of the file itself that is the target with the definitions at the top that it reads, one by the
    other, and every statement there that does something. An earlier exercise that is imported
    counts whole. So does everything where the text is not plain, since it may find a definition
    by other ways than its name.
    """
    everything = repr((job.units, job.own_earlier))
    own = _statements(job.units)
    if not job.plain or own is None:
        return everything
    read = _without_unread(own, target)
    files = {job.stem: read}
    waiting = [*read]
    while waiting:
        words = _imported(waiting.pop())
        if words & _names(job.stem):
            return everything  # it imports itself
        for stem, units in job.own_earlier.items():
            if stem not in files and words & _names(stem):
                files[stem] = _statements(units) or []
                waiting += files[stem]
    return repr([(stem, *map(ast.dump, files[stem])) for stem in sorted(files)])


def _statements(units: Units) -> list[ast.stmt] | None:
    """Return the statements at the top of a file, None where it cannot be read."""
    trees = [parse(text) for _, text in units]
    found = [tree.body for tree in trees if tree is not None]
    return [node for body in found for node in body] if len(found) == len(trees) else None


def _without_unread(statements: Sequence[ast.stmt], target: str) -> list[ast.stmt]:
    """Leave out text, and definitions that neither the target nor what does something reads."""
    defined = [node for node in statements if _only_defines(node)]
    made = [[node.name] for node in defined if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    doing = [node for node in statements if node not in defined]
    wanted = [target, *(name for node in doing for name in _read(node))]
    kept = reached(made, [_read(node) for node in defined], wanted)
    unread = {id(node) for number, node in enumerate(defined) if number not in kept}
    return [node for node in statements if id(node) not in unread and not _is_text(node)]


def _only_defines(node: ast.stmt) -> bool:
    """Whether a statement defines a function or layer, and runs nothing else on the way."""
    match node:
        case ast.FunctionDef():
            ran = [node.args, *filter(None, [node.returns])]
            calls = any(isinstance(n, ast.Call) for one in ran for n in ast.walk(one))
            known = all(ast.unparse(d) in _PLAIN_DECORATORS for d in node.decorator_list)
            return known and not calls
        case ast.ClassDef(bases=bases, keywords=[], decorator_list=[], body=body):
            known = all(ast.unparse(base) in _LAYERS for base in bases)
            return known and all(_only_defines(inner) or _is_text(inner) for inner in body)
    return False


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _read(node: ast.stmt) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _imported(node: ast.stmt) -> set[str]:
    """Return every part of a name that is imported somewhere in a statement."""
    return {part for name in _import_names(node) for part in name.split(".")}


def _import_names(node: ast.stmt) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Import | ast.ImportFrom):
            yield from (alias.name for alias in inner.names)
            yield getattr(inner, "module", None) or ""


def _names(stem: str) -> set[str]:
    """Return the names by which an exercise is imported."""
    return {stem, stem.partition("_")[0]}
