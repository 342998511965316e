"""Says how a constructor calls that of its parent class, where the submission's does not."""

import ast

from grader.compare.scene import Scene
from grader.compare.statement import shown

_DUE = "super().__init__()"
_BEFORE = "before Module.__init__"  # as torch says it
_OF_FRAMEWORKS = ("Module", "Layer", "Model")  # classes whose constructor needs no argument


def advise_on_parent(scene: Scene) -> str:
    """Say what to write for a call of the parent's constructor that failed, or that is not there.

    "" where an exception comes of something else.
    """
    owner = scene.line.owner
    parents = {shown(base).rpartition(".")[2] for base in owner.bases} if owner else set()
    if _BEFORE in scene.error.message:
        calls = _calls(owner) if owner else []
        early = [call for call in calls if call.lineno < scene.line.line]
        if early and shown(early[0].value) != _DUE:
            return _other(early[0])
        return f"write `{_DUE}` as the first line of `__init__`"
    here = [call for call in _calls(owner) if call is scene.line.node] if owner else []
    if here and parents and parents <= set(_OF_FRAMEWORKS) and shown(here[0].value) != _DUE:
        return _other(here[0])
    return ""


def _other(call: ast.Expr) -> str:
    return f"`{shown(call.value)}` does not run the parent's constructor: write `{_DUE}`"


def _calls(owner: ast.ClassDef) -> list[ast.Expr]:
    """The statements of a class's constructor that are about its parent's."""
    makers = [n for n in owner.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    lines = [n for maker in makers for n in ast.walk(maker) if isinstance(n, ast.Expr)]
    return [line for line in lines if _is_about_parent(line)]


def _is_about_parent(line: ast.Expr) -> bool:
    inside = list(ast.walk(line.value))
    named = any(isinstance(node, ast.Name) and node.id == "super" for node in inside)
    return named or any(isinstance(n, ast.Attribute) and n.attr == "__init__" for n in inside)
