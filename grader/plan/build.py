"""Makes the plan of an exercise: its cases, drawn, and the calls that the checks need."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from grader.course.expressions import (
    ArgumentSpec,
    ProbeSpec,
    Range,
    TensorSpec,
    literal,
    parse_argument,
    parse_dim,
    parse_size,
)
from grader.course.models import (
    Agrees,
    Case,
    Course,
    Device,
    Dropout,
    Equivariant,
    Exercise,
    Fits,
    Independent,
    Property,
    Raises,
    Reusable,
    Target,
    Varies,
)
from grader.errors import CourseError
from grader.plan.draw import Dims, draw_dims, draw_indices, draw_normal, seed_of
from grader.plan.records import PUBLIC, Array, Call, DrawnCase, Plan, Role

Describe = Callable[[Target, list[dict[str, Any]], dict[str, Any], Mapping[str, Array]], list[Role]]

FEW_REPEATS = 8  # masks by which it shows that there are any


def build_plan(
    course: Course, exercise: Exercise, split: str, secret: bytes, describe: Describe
) -> Plan:
    """Return the calls of all targets; `describe` tells the reference's parameters."""
    plan = Plan(exercise.id, split, {}, [], {})
    for target in exercise.targets:
        try:
            _TargetPlanner(course, exercise, target, plan, secret, describe).run()
        except ValueError as error:
            raise CourseError(f"{exercise.id}.{target.name}: {error}") from None
    return plan


def plan_property(
    course: Course,
    exercise: Exercise,
    target: Target,
    prop: Property,
    dims: Dims,
    draw: Callable[[tuple[int, ...], int], Array],
) -> Plan:
    """Return the calls of one property on inputs that `draw` fills, of sizes `dims`."""
    plan = Plan(exercise.id, PUBLIC, {}, [], {})
    planner = _TargetPlanner(course, exercise, target, plan, b"", lambda *_: [], draw)
    planner.run_property(prop, dims)
    return plan


@dataclass
class _TargetPlanner:
    course: Course
    exercise: Exercise
    target: Target
    plan: Plan
    secret: bytes
    describe: Describe
    draw: Callable[[tuple[int, ...], int], Array] = draw_normal

    def run_property(self, prop: Property, dims: Dims) -> None:
        """Plan one property on inputs of given sizes, with the module's own parameters."""
        drawn = DrawnCase(
            "main-1", "", self.target.name, dims, {}, {}, numeric=True, gradient=False
        )
        self.plan.cases[f"{self.target.name}/main-1"] = drawn
        self._add(self._call(drawn, Case(name="main"), "main-1/forward", "forward"))
        self._add_property(prop)

    def run(self) -> None:
        main = Case(name="main", draws=self.course.draws)
        for case in [main, *self.target.cases]:
            for drawn in self._draw(case, _slug(case.name), numeric=True):
                self._add_numeric(drawn, case)
        for prop in self.course.properties(self.exercise, self.target):
            self._add_property(prop)

    # ---- cases ------------------------------------------------------------------------------

    def _draw(self, case: Case, slug: str, *, numeric: bool) -> list[DrawnCase]:
        where = f"{self.exercise.id}.{self.target.name}.{slug}"
        overrides = {name: parse_dim(value) for name, value in case.dims.items()}
        seed = seed_of(self.secret, self.plan.split, where)
        declared = self.target.dim_specs
        cases = []
        for number, dims in enumerate(
            draw_dims(declared, overrides, case.draws, seed, where), start=1
        ):
            drawn = DrawnCase(
                id=f"{slug}-{number}",
                name=case.name,
                target=self.target.name,
                dims=dims,
                construct={
                    name: str(value)
                    if isinstance(spec := parse_argument(str(value)), ProbeSpec)
                    else spec.value(dims)  # type: ignore[union-attr]
                    for name, value in {**self.target.constructor, **case.constructor}.items()
                },
                options={name: literal(v).value(dims) for name, v in case.options.items()},
                numeric=numeric,
                gradient=case.gradient and numeric,
            )
            self.plan.cases[f"{self.target.name}/{drawn.id}"] = drawn
            cases.append(drawn)
        return cases

    def _tensor(self, drawn: DrawnCase, name: str, values: Array, case: Case) -> str:
        key = f"{self.target.name}/{drawn.id}/{name}"
        if key not in self.plan.tensors:
            adjust = case.values.get(name)
            if adjust is not None:
                values = values * adjust.scale + adjust.shift
            self.plan.tensors[key] = values
        return key

    def _seed(self, drawn: DrawnCase, name: str) -> int:
        return seed_of(
            self.secret, self.plan.split, self.exercise.id, self.target.name, drawn.id, name
        )

    def _argument(
        self, drawn: DrawnCase, case: Case, name: str, spec: ArgumentSpec, dims: Mapping[str, int]
    ) -> dict[str, Any]:
        seed = self._seed(drawn, name)
        if isinstance(spec, TensorSpec):
            shape = spec.shape(dims)
            if spec.below is None:
                values = self.draw(shape, seed)
            else:
                values = draw_indices(shape, spec.below.size(dims), seed)
            return {"tensor": self._tensor(drawn, name, values, case)}
        if isinstance(spec, ProbeSpec):
            size = spec.size.size(dims)
            tensors = {}
            for part in ("own", "mixed"):
                values = draw_normal((size, size), seed_of(seed, part)) / sqrt(size)
                tensors[part] = self._tensor(drawn, f"{name}.{part}", values, case)
            return {"probe": spec.probe, "tensors": tensors}
        return {"value": spec.value(dims)}

    # ---- calls ------------------------------------------------------------------------------

    def _call(self, drawn: DrawnCase, case: Case, name: str, action: str, **more: Any) -> Call:
        dims = drawn.dims
        merged = {**self.target.constructor, **case.constructor}
        construct = [
            self._argument(drawn, case, key, parse_argument(str(value)), dims)
            for key, value in merged.items()
        ]
        inputs = [
            self._argument(drawn, case, key, spec, dims)
            for key, spec in self.target.input_specs.items()
        ]
        options = dict(drawn.options)
        roles: list[Role] = []
        refused = more.pop("refused", False)
        filled = self.target.kind == "module" or "earlier" in more
        more.setdefault("earlier", self.target.earlier)
        if filled and not refused:
            roles = self.describe(self.target, construct, options, self.plan.tensors)
        return Call(
            id=f"{self.target.name}/{name}",
            target=self.target.name,
            kind=self.target.kind,
            case=drawn.id,
            action=action,
            construct=construct,
            options=options,
            inputs=inputs,
            outputs=list(self.target.outputs),
            roles=[asdict(r) for r in roles],
            parameters={
                r.name: self._tensor(drawn, r.name, self._parameter(drawn, r), case) for r in roles
            },
            **more,
        )

    def _parameter(self, drawn: DrawnCase, role: Role) -> Array:
        """Draw a parameter so that activations keep about unit variance."""
        values = draw_normal(role.shape, self._seed(drawn, role.name))
        if role.kind == "linear":
            return values / sqrt(role.shape[-1])
        return values * 0.5 if role.kind == "bias" else values

    def _add(self, call: Call) -> None:
        self.plan.calls.append(call)

    def _add_numeric(self, drawn: DrawnCase, case: Case) -> None:
        watch = drawn.id == "main-1"
        self._add(self._call(drawn, case, f"{drawn.id}/forward", "forward", watch=watch))
        if drawn.gradient and self.target.points.gradient:
            self._add_gradient(drawn, case)

    def _add_gradient(self, drawn: DrawnCase, case: Case) -> None:
        cotangents = []
        for name, spec in self.target.output_specs.items():
            values = draw_normal(spec.shape(drawn.dims), self._seed(drawn, f"cotangent {name}"))
            cotangents.append(self._tensor(drawn, f"cotangent.{name}", values, case))
        self._add(
            self._call(drawn, case, f"{drawn.id}/gradient", "gradient", cotangents=cotangents)
        )

    def _add_property(self, prop: Property) -> None:
        match prop:
            case Agrees(case=case, strided=strided):
                for drawn in self._draw(case, prop.name, numeric=False):
                    name, more = f"{prop.name}/{drawn.id}", self._earlier(prop)
                    self._add(self._call(drawn, case, name, "forward", strided=strided, **more))
            case Raises(case=case):
                drawn = self._draw(case, prop.name, numeric=False)[0]
                self._add(self._call(drawn, case, prop.name, "forward", refused=True))
            case Dropout(case=case, masks=masks):
                drawn = self._draw(case, prop.name, numeric=False)[0]
                extra = {"repeats": masks}
                more = self._earlier(prop)
                self._add(self._call(drawn, case, prop.name, "train", extra=extra, **more))
            case Varies(case=case):
                drawn = self._draw(case, prop.name, numeric=False)[0]
                extra = {"repeats": FEW_REPEATS}
                self._add(self._call(drawn, case, prop.name, "train", extra=extra))
            case Fits(case=case):
                self._add_fits(prop, self._draw(case, prop.name, numeric=False)[0])
            case Device():
                self._add(self._derived(prop.name, "device"))
            case Reusable(dims=dims):
                self._add_reuse(prop, dims)
            case Equivariant(dim=dim):
                self._add(
                    self._moved(f"{prop.name}/rolled", dim, lambda a, axis: np.roll(a, 1, axis))
                )
            case Independent(dim=dim):
                self._add(self._moved(f"{prop.name}/first", dim, _first))
                self._add(self._moved(f"{prop.name}/last", dim, _last))
            case _:
                pass  # judged on the answers of the numeric cases

    def _earlier(self, prop: Agrees | Dropout) -> dict[str, str]:
        return {"earlier": prop.earlier} if prop.earlier else {}

    def _main(self) -> tuple[DrawnCase, Case]:
        return self.plan.cases[f"{self.target.name}/main-1"], Case(name="main")

    def _derived(self, name: str, action: str, **more: Any) -> Call:
        drawn, case = self._main()
        return self._call(drawn, case, name, action, **more)

    def _moved(self, name: str, dim: str, move: Callable[[Array, int], Array]) -> Call:
        """The first main case with every input that has `dim` moved along it."""
        call = self._derived(name, "forward")
        inputs = []
        for argument, spec in zip(call.inputs, self.target.input_specs.values(), strict=True):
            axis = spec.axis_of(dim) if isinstance(spec, TensorSpec) else None
            if axis is not None:
                key = f"{call.id}/{argument['tensor'].rsplit('/', 1)[1]}"
                self.plan.tensors[key] = np.ascontiguousarray(
                    move(self.plan.tensors[argument["tensor"]], axis)
                )
                argument = {"tensor": key}
            inputs.append(argument)
        return replace(call, inputs=inputs)

    def _add_reuse(self, prop: Property, dims: list[str]) -> None:
        drawn, case = self._main()
        first = self._call(drawn, case, prop.name, "reuse")
        if fixed := [d for d in dims if not isinstance(self.target.dim_specs[d], Range)]:
            raise CourseError(f"{first.id}: the dim '{fixed[0]}' cannot change: it is no range")
        moved: Dims = {**drawn.dims, **{d: drawn.dims[d] + 1 for d in dims}}
        second = replace(drawn, id=f"{prop.name}-2", dims=moved)
        again = [
            self._argument(second, case, name, spec, moved)
            for name, spec in self.target.input_specs.items()
        ]
        self._add(replace(first, again=again))

    def _add_fits(self, prop: Fits, drawn: DrawnCase) -> None:
        classes = parse_size(prop.classes).size(drawn.dims)
        call = self._call(drawn, prop.case, prop.name, "fit")
        rows = next(iter(self.target.output_specs.values())).shape(drawn.dims)[0]
        labels = draw_indices((rows,), classes, self._seed(drawn, "labels"))
        extra = {
            "labels": self._tensor(drawn, "labels", labels, prop.case),
            "steps": prop.steps,
            "learning_rate": prop.learning_rate,
            "share": prop.share,
        }
        self._add(replace(call, extra=extra))


def _first(array: Array, axis: int) -> Array:
    return np.take(array, [0], axis)


def _last(array: Array, axis: int) -> Array:
    return np.take(array, [array.shape[axis] - 1], axis)


def _slug(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())
