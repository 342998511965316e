"""The course's own rules: functions of solutions/drawing.py that draw inputs."""

import inspect

from grader.course.expressions import RULES
from grader.course.load import CourseFolder
from grader.errors import CourseError
from grader.key.reference import error_of
from grader.plan.rules import Rule

RULES_FILE = "drawing.py"


def load_rules(folder: CourseFolder) -> dict[str, Rule]:
    """Return the functions of the file by name, none where there is no file; raises CourseError.

    One takes the shape, the sizes of the case by letter and a generator of numpy's.
    """
    path = folder.solutions / RULES_FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path}: cannot be read: {error}") from None
    namespace: dict[str, object] = {"__name__": path.stem}
    try:
        exec(compile(text, str(path), "exec"), namespace)  # noqa: S102 - the course's own code
    except Exception as error:  # noqa: BLE001 - whatever it raises is a course error
        raise CourseError(f"{path}: {error_of(error, path)}") from None
    rules = {
        name: value
        for name, value in namespace.items()
        if inspect.isfunction(value) and value.__code__.co_filename == str(path)
    }
    if taken := sorted(set(rules) & set(RULES)):
        raise CourseError(f"{path}: '{taken[0]}' is a rule of grader's: give yours another name")
    return {name: rule for name, rule in rules.items() if not name.startswith("_")}
