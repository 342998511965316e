"""What the models of course.yml are made of: a frozen record, and values that are read as text."""

from typing import Annotated, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from grader.course.expressions import (
    literal,
    literal_array,
    parse_argument,
    parse_dim,
    parse_output,
)


def error_at(place: tuple[str | int, ...], said: str) -> ValidationError:
    """Return the error of a place inside the record that is checked; its line is told."""
    error = PydanticCustomError("value_error", "{said}", {"said": said})
    return ValidationError.from_exception_data(
        "course", [InitErrorDetails(type=error, loc=place, input=None)]
    )


class Record(BaseModel):
    """A frozen part of course.yml; a key that it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def literals_of(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the words that a model's `kind` may be, () where it is a base of others."""
    return get_args(model.model_fields["kind"].annotation)


def _checked_argument(value: object) -> object:
    parse_argument(str(value))
    return value


def _checked_output(value: object) -> object:
    parse_output(str(value))
    return value


def _checked_dim(value: object) -> object:
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise ValueError("a dim is a range such as 2..4, a number, or an expression")
    parse_dim(value)
    return value


def _checked_literal(value: object) -> object:
    if isinstance(value, str | int | float | bool):
        literal(value)
    return value


def _checked_given(value: object) -> object:
    """An argument, or numbers in lists in lists, or None where an input is not given."""
    if isinstance(value, list):
        literal_array(value)
    elif value is not None:
        _checked_argument(value)
    return value


Argument = Annotated[str | int, BeforeValidator(_checked_argument)]
Output = Annotated[str, BeforeValidator(_checked_output)]
Dim = Annotated[int | str, BeforeValidator(_checked_dim)]
Given = Annotated[bool | int | float | str | list[object] | None, BeforeValidator(_checked_given)]
Literal_ = Annotated[bool | int | float | str, BeforeValidator(_checked_literal)]
