"""Draws the cases of a target and makes calls of them; what every kind of property plans with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any

import numpy as np

from grader.course.cases import Case
from grader.course.expressions import (
    NUMBER,
    OPAQUE,
    ArgumentSpec,
    LiteralSpec,
    ProbeSpec,
    TensorSpec,
    ToolSpec,
    literal,
    parse_argument,
    parse_dim,
)
from grader.course.models import Course, Exercise, Target
from grader.plan.draw import draw_dims, draw_indices, draw_normal, seed_of
from grader.plan.rules import Rule, draw_by
from grader.records.calls import PLAIN, Array, Call, DrawnCase, Plan, group_of
from grader.records.ids import BIASES, MAIN, CallId, TensorId
from grader.worker.names import is_bias
from grader.worker.protocol import (
    Action,
    Argument,
    Earlier,
    Probe,
    Role,
    RoleKind,
    Scalar,
    TargetKind,
    TensorKey,
    Tool,
    Value,
)

Describe = Callable[
    [Target, Sequence[Argument], Mapping[str, Scalar], Sequence[Argument], Mapping[str, Array]],
    Sequence[Role],
]


@dataclass
class TargetPlanner:
    """Adds the cases and calls of one target to a plan."""

    course: Course
    exercise: Exercise
    target: Target
    plan: Plan
    secret: bytes
    describe: Describe
    draw: Callable[[tuple[int, ...], int], Array] = draw_normal
    rules: Mapping[str, Rule] = field(default_factory=dict)  # the course's own, by name
    biases: set[str] = field(default_factory=set)  # that the module has whatever the options

    # ---- cases ------------------------------------------------------------------------------

    def draw_cases(self, case: Case, slug: str, *, numeric: bool) -> list[DrawnCase]:
        """Draw the sizes of a case, as often as it says, and add the drawn cases to the plan.

        `slug` begins their ids; `numeric` ones are judged by the numeric check.
        """
        where = f"{self.exercise.id}.{self.target.name}.{slug}"
        overrides = {name: parse_dim(value) for name, value in case.dims.items()}
        seed = seed_of(self.secret, self.plan.split, where)
        declared = self.target.dim_specs
        gives = case.gives(self.target.input_specs)
        cases = []
        for number, dims in enumerate(
            draw_dims(declared, overrides, case.draws, seed, where), start=1
        ):
            drawn = DrawnCase(
                slug=slug,
                number=number,
                name=case.name,
                target=self.target.name,
                dims=dims,
                construct={
                    name: str(value)
                    if isinstance(spec := parse_argument(str(value)), ProbeSpec)
                    else spec.value(dims)  # type: ignore[union-attr]
                    for name, value in {**self.target.constructor, **case.constructor}.items()
                },
                options={
                    name: literal(value).value(dims)
                    for name, value in {**self.target.options, **case.options}.items()
                    if value is not None
                },
                numeric=numeric,
                gradient=case.gradient and numeric,
                group=(case.group or group_of(gives)) if numeric else PLAIN,
                gives=gives,
            )
            self.plan.cases.append(drawn)
            cases.append(drawn)
        return cases

    def tensor(self, drawn: DrawnCase, name: str, values: Array, case: Case) -> str:
        """Keep the values of a tensor, adjusted as the case says, and return their key."""
        key = str(TensorId(f"{self.target.name}/{drawn.id}", name))
        if key not in self.plan.tensors:
            adjust = case.values.get(name)
            if adjust is not None:
                values = values * adjust.scale + adjust.shift
            self.plan.tensors[key] = values
        return key

    def seed(self, drawn: DrawnCase, name: str) -> int:
        """Return the seed of something drawn for a case; it depends on all names around it."""
        return seed_of(
            self.secret, self.plan.split, self.exercise.id, self.target.name, drawn.id, name
        )

    def argument(
        self, drawn: DrawnCase, case: Case, name: str, spec: ArgumentSpec, dims: Mapping[str, int]
    ) -> Argument:
        """Return one argument of a call, drawn from its specification."""
        seed = self.seed(drawn, name)
        if isinstance(spec, TensorSpec | LiteralSpec):
            return TensorKey(self.tensor(drawn, name, self._values(spec, dims, seed), case))
        if isinstance(spec, ProbeSpec):
            size, *more = (one.size(dims) for one in spec.sizes)
            keys = {}
            for part in ("own", "mixed"):
                values = draw_normal((size, size), seed_of(seed, part)) / sqrt(size)
                keys[part] = self.tensor(drawn, f"{name}.{part}", values, case)
            return Probe(spec.probe, **keys, max_len=sum(more), training=spec.training)
        if isinstance(spec, ToolSpec):
            of = list(self.target.inputs).index(spec.of) if spec.of else None
            return Tool(of, spec.used)
        return Value(spec.value(dims))

    def _values(self, spec: TensorSpec | LiteralSpec, dims: Mapping[str, int], seed: int) -> Array:
        """Return the values of a tensor, drawn or as they are given; raises ValueError."""
        if isinstance(spec, LiteralSpec):
            return spec.of_shape(dims)
        shape = spec.shape(dims)

        def plain() -> Array:
            if spec.kind == "float":
                return self.draw(shape, seed)
            below = 2 if spec.below is None else spec.below.size(dims)
            return draw_indices(shape, below, seed)

        drawn = draw_by(spec, dims, seed, self.rules, plain) if spec.rule else plain()
        return drawn.astype(spec.held, copy=False)

    def inputs(self, drawn: DrawnCase, case: Case) -> tuple[Argument, ...]:
        """Return the inputs of a call on a drawn case; what is not given at their end is left out.

        What is not given in between is None.
        """
        specs = case.input_specs(self.target.input_specs)
        given = [i for i, spec in enumerate(specs.values(), start=1) if spec is not None]
        return tuple(
            Value(None) if spec is None else self.argument(drawn, case, name, spec, drawn.dims)
            for name, spec in list(specs.items())[: max(given, default=0)]
        )

    # ---- calls ------------------------------------------------------------------------------

    def call(
        self,
        drawn: DrawnCase,
        case: Case,
        what: str,
        action: Action,
        *,
        part: str = "",
        earlier: Earlier | None = None,
        filled: bool = True,
        **more: Any,
    ) -> Call:
        """Return a call on a drawn case; `what` and `part` are those of its id.

        `earlier` takes the place of the target's own; `more` are further fields of Call. A module
        that is not `filled` keeps the parameters that it was made with.
        """
        construct = self._construct(drawn, case)
        filled = filled and (self.target.kind is TargetKind.MODULE or earlier is not None)
        roles = () if more.get("refused") or not filled else self._roles(drawn, case, construct)
        call = Call(
            id=str(CallId(self.target.name, what, part)),
            target=self.target.name,
            kind=self.target.kind,
            case=drawn.id,
            action=action,
            construct=construct,
            options=dict(drawn.options),
            inputs=self.inputs(drawn, case),
            outputs=list(self.target.outputs),
            times=case.calls,
            roles=roles,
            parameters={
                r.name: self.tensor(drawn, r.name, self._parameter(drawn, r), case) for r in roles
            },
            earlier=earlier or self.target.earlier,
            **{"defaults": self._defaults(drawn, case), **more},
        )
        specs = case.output_specs(self.target.output_specs)
        return self._returning(self._filling(call, case), specs, drawn.dims)

    def _filling(self, call: Call, case: Case) -> Call:
        """Return a call that says what is None where the code has no default for it."""
        none = [name for name, value in self.target.defaults.items() if value is None]
        behind = list(self.target.input_specs)[len(call.inputs) :]
        # what a case says it does not give shows a default that is missing
        spare = 0 if any(name in case.inputs for name in behind) else len(behind)
        return replace(call, nones=[n for n in none if n not in call.options], spare=spare)

    def _defaults(self, drawn: DrawnCase, case: Case) -> dict[str, Scalar]:
        """Return the target's defaults, but for what a case says it does not give."""
        return {
            name: literal(value).value(drawn.dims)
            for name, value in self.target.defaults.items()
            if value is not None and case.options.get(name, value) is not None
        }

    def _returning(
        self, call: Call, specs: Mapping[str, TensorSpec], dims: Mapping[str, int]
    ) -> Call:
        """Return a call that tells in which form its outputs come back."""
        after = [spec.after for spec in specs.values() if spec.after]
        return replace(
            call,
            after=list(self.target.inputs).index(after[0]) if after else None,
            numbers=[name for name, spec in specs.items() if spec.kind == NUMBER],
            truths=[name for name, spec in specs.items() if spec.kind == "bool"],
            opaque=[name for name, spec in specs.items() if spec.kind == OPAQUE],
            as_dict=self.target.as_dict,
            shapes={n: spec.shape(dims) for n, spec in specs.items() if spec.kind != OPAQUE},
        )

    def _construct(self, drawn: DrawnCase, case: Case) -> tuple[Argument, ...]:
        """Return what the constructor of a case gets."""
        merged = {**self.target.constructor, **case.constructor}
        return tuple(
            self.argument(drawn, case, key, parse_argument(str(value)), drawn.dims)
            for key, value in merged.items()
        )

    def _roles(
        self, drawn: DrawnCase, case: Case, construct: Sequence[Argument]
    ) -> tuple[Role, ...]:
        """Return the parameters of the reference, and which of them are biases that are zero here.

        Those are zero that a module has whatever the options, but for one case of their own: a
        layer without its bias has the same values, and loses the points of that case.
        """
        inputs, tensors = self.inputs(drawn, case), self.plan.tensors
        roles = self.describe(self.target, construct, dict(drawn.options), inputs, tensors)
        if self.target.kind is not TargetKind.MODULE:  # its own layers are another target's
            return tuple(replace(r, optional=not r.part and is_bias(r.name)) for r in roles)
        if drawn.main and not self.biases:
            self.biases |= {role.name for role in roles if is_bias(role.name)}
        zero = self.biases - set(case.values) if drawn.group != BIASES else set()
        return tuple(replace(role, optional=role.name in zero) for role in roles)

    def _parameter(self, drawn: DrawnCase, role: Role) -> Array:
        """Draw a parameter so that activations keep about unit variance."""
        if role.optional:
            return np.zeros(role.shape)
        values = draw_normal(role.shape, self.seed(drawn, role.name))
        if role.kind is RoleKind.LINEAR:
            return values / sqrt(role.shape[-1])
        return values * 0.5 if role.kind is RoleKind.BIAS else values

    def add(self, call: Call) -> None:
        """Add a call to the plan."""
        self.plan.calls.append(call)

    def add_numeric(self, drawn: DrawnCase, case: Case) -> None:
        """Add the calls of a numeric case: its outputs, and its gradients where they count."""
        forward = Action.FORWARD
        watch = drawn.main and drawn.number == 1
        self.add(self.call(drawn, case, drawn.id, forward, part=forward, watch=watch))
        if drawn.gradient and self.target.points.gradient:
            self._add_gradient(drawn, case)

    def add_biases(self) -> None:
        """Add the numeric case in which the biases that are always there are not zero."""
        if self.biases:
            name = "with biases that are not zero"
            drawn = replace(self.main, slug=BIASES, name=name, group=BIASES)
            self.plan.cases.append(drawn)
            self.add_numeric(drawn, Case(name=name))

    def _add_gradient(self, drawn: DrawnCase, case: Case) -> None:
        cotangents = []
        for name, spec in case.output_specs(self.target.output_specs).items():
            if spec.kind != "float":
                cotangents.append("")
                continue
            values = draw_normal(spec.shape(drawn.dims), self.seed(drawn, f"cotangent {name}"))
            cotangents.append(self.tensor(drawn, f"cotangent.{name}", values, case))
        gradient = Action.GRADIENT
        self.add(self.call(drawn, case, drawn.id, gradient, part=gradient, cotangents=cotangents))

    @property
    def main(self) -> DrawnCase:
        """The first main case."""
        return self.plan.first_case(self.target.name)

    def derived(self, what: str, action: Action, *, part: str = "", **more: Any) -> Call:
        """Return a call on the first main case."""
        return self.call(self.main, Case(name=MAIN), what, action, part=part, **more)

    def moved(self, what: str, part: str, dim: str, move: Callable[[Array, int], Array]) -> Call:
        """Return the first main case with every input that has `dim` moved along it."""
        call = self.derived(what, Action.FORWARD, part=part)
        inputs, size = [], self.main.dims.get(dim, 0)
        for argument, (name, spec) in zip(
            call.inputs, self.target.input_specs.items(), strict=False
        ):
            axis = spec.axis_of(dim) if isinstance(spec, TensorSpec) else None
            if axis is not None and isinstance(argument, TensorKey):
                key = str(TensorId(call.id, name))
                values = self.plan.tensors[argument.tensor]
                self.plan.tensors[key] = np.ascontiguousarray(move(values, axis))
                size = self.plan.tensors[key].shape[axis]
                argument = TensorKey(key)
            inputs.append(argument)
        dims = {**self.main.dims, dim: size}
        call = replace(call, inputs=tuple(inputs))
        return self._returning(call, self.target.output_specs, dims)
