"""What builders do for an audit; torch is imported only where a task runs."""

from grader.audit.records import BugTrial, MutantTrial, PairTrial, Survivor
from grader.key.builders import KeyOrder


def build_tried_key(order: KeyOrder) -> tuple[BugTrial, ...]:
    """Build a key, and try the bugs, which ran on the way to it; raises CourseError."""
    from grader.audit.trial import try_findings
    from grader.key.build import write_answer_key

    return try_findings(write_answer_key(order))


def try_bugs(order: KeyOrder) -> tuple[BugTrial, ...]:
    """Try every known bug of a key that is there."""
    from grader.audit import trial
    from grader.key.build import open_runner

    with open_runner(order) as runner:
        return trial.try_bugs(runner)


def try_pairs(order: KeyOrder, *, whole: bool) -> PairTrial:
    """Count pairs of bugs by how they are reported; their signatures are built where missing."""
    from grader.audit import trial
    from grader.key.build import open_runner, pairs_of

    with open_runner(order) as runner:
        return trial.try_pairs(runner, pairs_of(order, runner), whole=whole)


def try_mutants(order: KeyOrder) -> MutantTrial:
    """Run the mutation test; raises CourseError."""
    from grader.audit.mutation import mutation_report
    from grader.key.build import open_runner

    with open_runner(order) as runner:
        report = mutation_report(runner.folder, runner.exercise, runner.key)
    survivors = tuple(
        Survivor(m.id, m.exercise, m.line, m.before, m.after) for m in report.survived
    )
    return MutantTrial(report.total, report.killed, len(report.equivalent), survivors)
