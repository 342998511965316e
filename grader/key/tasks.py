"""What builders do for keys; torch is imported only where a task runs."""

from collections.abc import Callable, Sequence

from grader.key.builders import Builders, KeyOrder


def build_key(order: KeyOrder) -> None:
    """Build an exercise's answer key, unless another process has; raises CourseError."""
    from grader.key.build import write_missing_key

    write_missing_key(order)


def build_pairs(order: KeyOrder) -> None:
    """Build the signatures of two bugs at once, of an exercise whose key is there."""
    from grader.key.build import open_runner, pairs_of

    with open_runner(order) as runner:
        pairs_of(order, runner)


def build_all(
    task: Callable[[KeyOrder], object],
    orders: Sequence[KeyOrder],
    on_step: Callable[[str], None] = lambda _: None,
) -> None:
    """Do one task an order in builders of their own; `on_step` hears each target and exercise."""
    with Builders(len(orders), on_step) as builders:
        named = {future: e for e, future in builders.start(task, orders).items()}
        builders.wait(named, on_step)
