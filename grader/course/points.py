"""What a target's checks are worth."""

from functools import cached_property

from pydantic import Field

from grader.course.record import Record


class Points(Record):
    """Points of a target by kind of check; property points are shared by weight, others evenly.

    Points for shapes, values and gradients are shared among groups of cases: the plain ones, those
    of each option or input that need not be given, and those of each edge that a case names.
    """

    shape: float = Field(default=0, ge=0, description="for the right types and shapes")
    numeric: float = Field(default=0, ge=0, description="for the right values")
    gradient: float = Field(default=0, ge=0, description="for the right gradients")
    property: float = Field(default=0, ge=0, description="for all properties together")
    bug: float = Field(default=0, ge=0, description="for all known bugs together")
    plain: float = Field(
        default=0.7,
        gt=0,
        le=1,
        description="the share of shape, numeric and gradient points that the plain cases have; "
        "each other group has as much of the rest",
    )

    @cached_property
    def total(self) -> float:
        """Points of all kinds."""
        return self.shape + self.numeric + self.gradient + self.property + self.bug
