"""A case of course.yml: what it changes of its target, and whether that fits the target."""

import difflib
from collections.abc import Mapping

from pydantic import Field

from grader.course.expressions import (
    ArgumentSpec,
    LiteralSpec,
    ProbeSpec,
    TensorSpec,
    ToolSpec,
    literal_array,
    parse_argument,
    parse_output,
)
from grader.course.record import Argument, Dim, Given, Literal_, Output, Record
from grader.records.ids import BIASES


class Adjustment(Record):
    """A drawn tensor's values are multiplied by `scale`, then `shift` is added."""

    scale: float = Field(default=1.0, description="what the drawn numbers are multiplied by")
    shift: float = Field(default=0.0, description="what is then added")


class Case(Record):
    """A configuration of a target; what it leaves out is as the target says."""

    name: str = Field(min_length=1, description="a few words that a student reads")
    draws: int = Field(default=1, ge=1, description="how many times sizes and values are drawn")
    dims: dict[str, Dim] = Field(default={}, description="sizes other than the target's: `{b: 1}`")
    constructor: dict[str, Argument] = Field(
        default={}, description="arguments of the constructor other than the target's"
    )
    options: dict[str, Literal_ | None] = Field(
        default={},
        description="arguments given by keyword: `{bias: true}`, `{size: d}`; "
        "text has quotes of its own, `\"'tanh'\"`; of a module they go to the constructor; "
        "`null` where one of the target's is not given",
    )
    values: dict[str, Adjustment] = Field(
        default={}, description="changes of the drawn numbers, by input or parameter"
    )
    inputs: dict[str, Given] = Field(
        default={},
        description="inputs other than the target's: `null` where one is not given, small values "
        "as they stand (`[[true, false]]`), or a tensor of another shape or rule",
    )
    outputs: dict[str, Output] = Field(
        default={}, description="outputs of another shape than the target's"
    )
    calls: int = Field(
        default=1, ge=1, description="how many times in a row it is called with the same arguments"
    )
    gradient: bool = Field(default=True, description="whether gradients are compared as well")
    group: str = Field(
        default="",
        pattern=r"^[a-z0-9_-]*$",
        description="the group whose share of points it has, where it is an edge: `empty-rows`; "
        "without it, what it gives: options, arguments of the constructor, inputs that are `or "
        "none`",
    )

    @property
    def slug(self) -> str:
        """The name in small letters and hyphens, with which the ids of its calls begin."""
        return "-".join("".join(c if c.isalnum() else " " for c in self.name.lower()).split())

    def gives(self, declared: Mapping[str, ArgumentSpec]) -> list[str]:
        """Return what it gives beside the main case: inputs, options and arguments, by name."""
        optional = [n for n, s in declared.items() if isinstance(s, TensorSpec) and s.optional]
        inputs = [name for name in optional if self.inputs.get(name) is not None]
        return [*inputs, *self.options, *self.constructor]

    def input_specs(self, declared: Mapping[str, ArgumentSpec]) -> dict[str, ArgumentSpec | None]:
        """Return the call's arguments in order, None for one that is not given."""
        specs: dict[str, ArgumentSpec | None] = {}
        for name, spec in declared.items():
            optional = isinstance(spec, TensorSpec) and spec.optional
            own = self.inputs.get(name, None if optional else spec)
            if isinstance(own, list):
                assert isinstance(spec, TensorSpec)  # noqa: S101 - `misfit_of` has seen to it
                own = LiteralSpec(spec, literal_array(own))
            elif isinstance(own, bool | int | float | str):
                own = parse_argument(str(own))
            specs[name] = own
        return specs

    def output_specs(self, declared: Mapping[str, TensorSpec]) -> dict[str, TensorSpec]:
        """Return what comes back, in order."""
        own = {name: parse_output(text) for name, text in self.outputs.items()}
        return {name: own.get(name, spec) for name, spec in declared.items()}


def misfit_of(
    case: Case,
    declared: Mapping[str, ArgumentSpec],
    outputs: Mapping[str, TensorSpec],
    dims: Mapping[str, Dim],
) -> tuple[tuple[str, ...], str] | None:
    """Return where a case does not fit its target and what is wrong, None where it fits.

    Whether small values have the shape that is due is seen once sizes are drawn.
    """
    if case.group == BIASES:
        return ("group",), f"'{BIASES}' is the group of grader's own case of biases"
    for name, value in case.inputs.items():
        where = ("inputs", name)
        if name not in declared:
            near = difflib.get_close_matches(name, declared, 1)
            return where, "is no input of the target" + (
                f"; did you mean '{near[0]}'?" if near else ""
            )
        came = literal_array(value).dtype.kind if isinstance(value, list) else ""
        if wrong := _unlike(came, declared[name]):
            return where, wrong
        read = parse_argument(value).names() if isinstance(value, str) else frozenset()
        if unknown := sorted(read - set(dims)):
            return where, f"reads the dim '{unknown[0]}', not declared"
    return _misfit_of_outputs(case, declared, outputs, dims)


def _misfit_of_outputs(
    case: Case,
    declared: Mapping[str, ArgumentSpec],
    outputs: Mapping[str, TensorSpec],
    dims: Mapping[str, Dim],
) -> tuple[tuple[str, ...], str] | None:
    for name, text in case.outputs.items():
        kind = outputs[name].kind if name in outputs else ""
        if (own := parse_output(text)).kind != kind:
            why = (
                f"should be of {kind}s, as for the target" if kind else "is no output of the target"
            )
            return ("outputs", name), why
        if unknown := sorted(own.names() - set(dims)):
            return ("outputs", name), f"reads the dim '{unknown[0]}', not declared"
    for name in case.values:
        spec = declared.get(name)
        if isinstance(spec, TensorSpec) and spec.kind != "float":
            return ("values", name), f"a tensor of {spec.kind}s is neither scaled nor shifted"
    return None


def _unlike(came: str, declared: ArgumentSpec) -> str:
    """Say why values, of a kind in numpy's letters, are none of a declared input."""
    if not came:
        return ""
    if not isinstance(declared, TensorSpec):
        return "values in a list are for a tensor, and the target declares none here"
    fits = {"float": "fi", "int": "i", "bool": "b"}[declared.kind]
    return "" if came in fits else f"the values should be those of a tensor of {declared.kind}s"


def misfit_of_training(
    declared: Mapping[str, ArgumentSpec], outputs: Mapping[str, TensorSpec]
) -> tuple[tuple[str, ...], str] | None:
    """Return where an optimizer, or what comes back after, is not of a given module, and why."""
    given = [name for name, spec in declared.items() if isinstance(spec, ProbeSpec)]
    for name, spec in declared.items():
        if isinstance(spec, ToolSpec) and spec.of and spec.of not in given:
            return ("inputs", name), f"'{spec.of}' is no given module among the inputs"
    after = [(name, spec.after) for name, spec in outputs.items() if spec.after]
    for name, of in after:
        if of not in given:
            return ("outputs", name), f"'{of}' is no given module among the inputs"
        if len(outputs) != 2 or name != list(outputs)[1] or len(after) != 1:
            return ("outputs", name), "it comes second, after the one that is returned"
    return None
