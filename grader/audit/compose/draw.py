"""Draws compositions with Hypothesis: some mistakes and deviations, in a style that allows them."""

import math
from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from grader.audit.compose.material import Composition, Material, Plant

_COUNTS = {"bugs": (0, 0, 1, 1, 1, 2, 2, 3), "deviations": (0, 0, 0, 1, 1, 2, 3)}
_IDLE = 20  # one in so many compositions does not do the work
_WITH_HELPERS = 5  # one plant in so many may be in what the target uses
_PLACES = 1000  # a plant is taken by a number up to here, modulo how many are possible
When = Mapping[str, Sequence[str]]
Domains = dict[str, list[str]]  # style -> the options that are still possible


@st.composite
def compositions(draw: st.DrawFn, material: Material) -> Composition:
    """Draw one composition; what is simplest is the reference in plain style.

    As many numbers are drawn whatever they are, so that each can be made smaller by itself.
    """
    domains: Domains = {style: list(options) for style, options in material.styles.items()}
    chosen: list[Plant] = []
    idle = draw(st.integers(1, _IDLE)) == _IDLE
    targets = [target.name for target in reversed(material.exercise.targets)]
    focus = draw(st.sampled_from([t for t in targets for _ in range(_weight(material, t))]))
    uses = material.exercise.target(focus).uses
    for group, counts in _COUNTS.items():
        count = draw(st.sampled_from(counts))
        for number in range(max(counts)):
            place = draw(st.integers(0, _PLACES))
            helps = draw(st.integers(1, _WITH_HELPERS)) == _WITH_HELPERS
            if number < count and not idle:
                near = [focus, *(uses if helps else ())]
                domains = _plant(material, group, near, place, chosen, domains)
    if idle:
        domains = _plant(material, "idle", [focus], draw(st.integers(0, _PLACES)), chosen, domains)
    for style, options in material.styles.items():
        option = list(options)[draw(st.integers(0, len(options) - 1))]
        option = option if option in domains[style] else domains[style][0]
        domains = _narrowed(material, domains, {style: [option]})
    return Composition(tuple((s, some[0]) for s, some in domains.items()), tuple(chosen))


def _plant(
    material: Material,
    group: str,
    near: Sequence[str],
    place: int,
    chosen: list[Plant],
    domains: Domains,
) -> Domains:
    """Add one more plant that goes with those chosen, where there is one."""
    taken = {gap for plant in chosen for gap in material.change(plant).pieces}
    possible = []
    for plant in material.plants(group):
        change = material.change(plant)
        known = (plant.target, plant.id) in {(p.target, p.id) for p in chosen}
        free = plant.target in near and not known and taken.isdisjoint(change.pieces)
        if free and all(_narrowed(material, domains, change.when).values()):
            possible.append(plant)
    if not possible:
        return domains
    chosen.append(possible[place % len(possible)])
    return _narrowed(material, domains, material.change(chosen[-1]).when)


def _weight(material: Material, target: str) -> int:
    """How often a target is drawn: by the square root of what there is to plant in it."""
    some = sum(p.target == target for g in _COUNTS for p in material.plants(g))
    return max(1, round(math.sqrt(some)))


def _narrowed(material: Material, domains: Domains, when: When) -> Domains:
    """Keep the options that `when` allows, and of the others those that go with some of these."""
    if all(set(domains[style]) <= set(options) for style, options in when.items()):
        return domains
    left = {s: [o for o in some if o in when.get(s, some)] for s, some in domains.items()}
    while True:
        kept = {
            style: [option for option in some if _possible(material, left, style, option)]
            for style, some in left.items()
        }
        if kept == left:
            return left
        left = kept


def _possible(material: Material, domains: Domains, style: str, option: str) -> bool:
    """Whether every other style has an option left that goes with this one."""
    mine = material.styles[style][option].when
    for other, some in domains.items():
        if other == style:
            continue
        theirs = material.styles[other]
        if not any(
            o in mine.get(other, some) and option in theirs[o].when.get(style, [option])
            for o in some
        ):
            return False
    return True
