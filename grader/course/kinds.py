"""Finds the kinds of property and completes the models of course.yml with them."""

import importlib
import pkgutil
from functools import cache, reduce
from operator import or_
from typing import Annotated

from pydantic import Field

from grader.course.models import Course, Exercise, Property, Target
from grader.course.record import Record, literals_of

PACKAGE = "grader.properties"  # found by name: it builds on this package
_BY_KIND = Field(discriminator="kind")
_PLACES: dict[type[Record], tuple[str, ...]] = {  # the models, inner ones first, and their fields
    Target: ("properties",),
    Exercise: (),
    Course: ("every_target", "every_module"),
}


def find_kinds() -> list[type[Property]]:
    """Import every module of the package and return the kinds that they declare, by name."""
    package = importlib.import_module(PACKAGE)
    kinds = {}
    for found in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{PACKAGE}.{found.name}")
        for one in vars(module).values():
            if isinstance(one, type) and issubclass(one, Property) and literals_of(one):
                kinds[literals_of(one)[0]] = one
    return [kinds[name] for name in sorted(kinds)]


@cache
def course_model() -> type[Course]:
    """Return the model of course.yml, complete with every kind of property."""
    union = reduce(or_, find_kinds())
    for model, names in _PLACES.items():
        for name in names:
            model.model_fields[name].annotation = list[Annotated[union, _BY_KIND]]  # type: ignore[valid-type]
        model.model_rebuild(force=True)
    return Course
