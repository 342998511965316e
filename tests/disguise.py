"""Copies as they are made by whoever would not be found: other names, order, comments and words."""

import ast

from grader.course.models import Course

_KEPT = {"self", "forward", "super"}


def disguise(text: str, course: Course) -> str:
    """Return a program with every free name changed, and its functions and methods turned round."""
    tree = ast.parse(text)
    asked = {target.name for exercise in course.exercises for target in exercise.targets}
    fields = _fields(tree)
    names = sorted(fields | _variables(tree) - _KEPT - asked)
    _Renaming({name: f"other_{n}" for n, name in enumerate(names)}, fields).visit(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef):
            _turn_round(node)
    return "# my own work\n" + ast.unparse(tree).replace(
        "\n    def", "\n\n    # as it must be\n    def"
    )


def _variables(tree: ast.AST) -> set[str]:
    nodes = list(ast.walk(tree))
    found = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    found |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    found |= {n.name for n in nodes if isinstance(n, ast.FunctionDef)}
    return {name for name in found if not name.startswith("__")}


def _fields(tree: ast.AST) -> set[str]:
    nodes = list(ast.walk(tree))
    stored = {
        n.attr for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
    }
    classes = [n for n in nodes if isinstance(n, ast.ClassDef)]
    told = [inner for one in classes for inner in one.body]
    stored |= {
        n.target.id for n in told if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
    }
    stored |= {n.name for n in told if isinstance(n, ast.FunctionDef)}
    return {name for name in stored if not name.startswith("__")} - _KEPT


def _turn_round(node: ast.Module | ast.ClassDef) -> None:
    """Reverse the order of functions among themselves."""
    functions = [inner for inner in node.body if isinstance(inner, ast.FunctionDef)]
    turned = iter(reversed(functions))
    node.body = [next(turned) if isinstance(n, ast.FunctionDef) else n for n in node.body]


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: dict[str, str], fields: set[str]) -> None:
        self._names = names
        self._fields = fields

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg, node.annotation = self._names.get(node.arg, node.arg), None
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if node.attr in self._fields:
            node.attr = self._names[node.attr]
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name, node.returns = self._names.get(node.name, node.name), None
        return self.generic_visit(node)
