"""One child for several exercises: only after code that leaves nothing behind."""

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
import safetensors.numpy
from support import SUBMISSIONS, assert_full, plain_call, solution

from grader.course.limits import OwnLimits
from grader.course.load import CourseFolder
from grader.execute.channel import Channel, Closed
from grader.execute.child import Child
from grader.execute.clock import Clock
from grader.execute.launch import WarmProcess
from grader.execute.session import Interview, Job, Shared, SharedChild, collect
from grader.grading.engine import Engine
from grader.grading.exhibits import exhibits_of
from grader.grading.jobs import Standins
from grader.grading.trace import traces_of
from grader.handin.read import Source, Submission
from grader.key.cache import Keys
from grader.records.answers import AnswerStatus
from grader.records.calls import HIDDEN, PUBLIC
from grader.records.results import ExerciseResult
from grader.worker.control import Limits
from grader.worker.data import DataFiles
from grader.worker.frameworks import FrameworkName
from grader.worker.protocol import Earlier

SERVED = {"exercises", "exercise1", "exercise1_attention"}
HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
SECOND = solution("exercise2")


@pytest.fixture
def started(warm: WarmProcess, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Child]]:
    """List the children that are started; two at most live at once, and in the end none."""
    begun: list[Child] = []
    living: list[int] = []
    start, end = warm.start, warm.end

    def starts(limits: Limits, framework: FrameworkName, data: DataFiles | None) -> Child:
        begun.append(start(limits, framework, data))
        living.append(begun[-1].pid)
        assert len(living) <= 2  # memory is admitted for so many
        return begun[-1]

    def ends(child: Child, *, grace: bool) -> object:
        living.remove(child.pid)
        return end(child, grace=grace)

    monkeypatch.setattr(warm, "start", starts)
    monkeypatch.setattr(warm, "end", ends)
    yield begun
    assert not living


@pytest.fixture
def engine(folder: CourseFolder, keys: Keys, warm: WarmProcess) -> Engine:
    """Grade on the public split; a hang takes a second."""
    limits = folder.course.limits.model_copy(update={"case_seconds": 1})
    tight = replace(folder, course=folder.course.model_copy(update={"limits": limits}))
    return Engine(tight, keys, Standins.of(folder), warm)


def handed_in(engine: Engine, texts: Mapping[str, str]) -> Submission:
    """Return a submission of some texts by exercise."""
    course = engine.folder.course
    sources = {e.id: Source(e.file, problem="not handed in") for e in course.exercises}
    for name, text in texts.items():
        file = course.exercise(name).file
        sources[name] = Source(file, units=((file, text),))
    return Submission(sources)


def runs(engine: Engine, **texts: str) -> list[ExerciseResult]:
    """Grade texts by exercise, one after the other."""
    chosen = [engine.folder.course.exercise(name) for name in texts]
    return [run.result for run in engine.runs(chosen, handed_in(engine, texts), quick=True)]


def test_exercise_with_other_limits_gets_a_child_of_its_own(
    engine: Engine, started: list[Child]
) -> None:
    course = engine.folder.course
    own = [
        e.model_copy(update={"limits": OwnLimits(data_mib=900 + i)})
        for i, e in enumerate(course.exercises)
    ]
    folder = replace(engine.folder, course=course.model_copy(update={"exercises": own}))
    texts = {name: solution(name) for name in ("exercise4", "exercise5")}
    for result in runs(replace(engine, folder=folder), **texts):
        assert_full(result)
    assert len(started) == 2


def test_plain_exercises_share_a_child(engine: Engine, started: list[Child]) -> None:
    exercises = engine.folder.course.exercises
    texts = {e.id: solution(e.id) for e in exercises}
    wrong = SUBMISSIONS / "keys-from-queries" / engine.folder.course.exercise("exercise3").file
    submission = handed_in(engine, texts | {"exercise3": wrong.read_text(encoding="utf-8")})
    together = [run.result for run in engine.runs(exercises, submission, quick=True)]
    # some put own exercises together, and correct ones were in the first child
    own = sum(any(t.earlier is Earlier.OWN for t in e.targets) for e in exercises)
    assert own > 1
    assert len(started) == 2
    alone = [engine.run(e, submission, quick=True).result for e in exercises]
    assert together == alone
    assert len(started) == 2 + len(exercises) + own


def test_what_explains_plain_code_runs_in_its_child(engine: Engine, started: list[Child]) -> None:
    deaf = solution("exercise4").replace(
        'nn.ReLU() if activation == "relu" else nn.GELU()', "nn.ReLU()"
    )
    (result,) = runs(engine, exercise4=deaf)
    assert result.diagnoses[0].deviations  # an option was tried
    assert len(started) == 1


def test_plain_code_is_recorded_once_in_its_child(engine: Engine, started: list[Child]) -> None:
    texts = {name: solution(name) for name in ("exercise1", "exercise2")}
    chosen = [engine.folder.course.exercise(name) for name in texts]
    graded = engine.runs(chosen, handed_in(engine, texts), quick=True)
    for exercise, run in zip(chosen, graded, strict=True):
        first, again = traces_of(exercise, run), traces_of(exercise, run)
        assert all(trace and trace.made for trace in first.values())
        assert first.keys() == again.keys()
    assert traces_of(exercise, run)  # its child is gone by now, and nothing is run
    assert len(started) == 1


def test_what_only_shows_takes_no_exercises_time(engine: Engine) -> None:
    exercise = engine.folder.course.exercise("exercise1")
    submission = handed_in(engine, {"exercise1": solution("exercise1")})
    with Shared(Clock(engine.folder.course.limits, 2)) as shared:
        run = engine.run(exercise, submission, quick=True, shared=shared)
        assert run.rounds
        assert run.rounds.clock is not shared.clock


def test_a_factory_is_not_recorded_for_pictures(engine: Engine, started: list[Child]) -> None:
    exercise = engine.folder.course.exercise("exercise7")
    run = engine.run(exercise, handed_in(engine, {"exercise7": solution("exercise7")}), quick=True)
    before = len(started)
    assert not exhibits_of(exercise, run, targets=["build_classifier"])
    assert len(started) == before


def test_other_code_is_recorded_in_one_child_a_target(engine: Engine, started: list[Child]) -> None:
    exercise = engine.folder.course.exercise("exercise1")
    submission = handed_in(engine, {"exercise1": solution("exercise1") + BEHIND["a patch"]})
    run = engine.run(exercise, submission, quick=True)
    before = len(started)
    assert all(traces_of(exercise, run).values())
    assert len(started) == before + len(exercise.targets)


BEHIND = {
    "a patch": "\nsetattr(torch.nn, 'Linear', None)\n",
    "a setting": "\ntorch.set_default_device('meta')\n",
    "printing": "\nprint('hello')\n",
    "a hang": "\ndef self_attention(x):\n    while True:\n        pass\n",
    "a thread": "\nimport threading\nthreading.Thread(target=threading.Event().wait).start()\n",
}


@pytest.mark.parametrize("more", BEHIND.values(), ids=list(BEHIND))
def test_what_one_exercise_leaves_does_not_reach_the_next(
    more: str, engine: Engine, started: list[Child]
) -> None:
    first, second = runs(engine, exercise1=solution("exercise1") + more, exercise2=SECOND)
    assert first.exercise == "exercise1"
    assert_full(second)
    assert len(started) >= 2


def test_a_crash_in_a_used_child_is_as_in_a_fresh_one(engine: Engine) -> None:
    crash = "\nclass QKVProjection(QKVProjection):\n    def forward(self, x):\n"
    crash += "        if x.size(0) == 1:\n            import os\n            os._exit(3)\n"
    crash += "        return super().forward(x)\n"
    _, second = runs(engine, exercise1=solution("exercise1"), exercise2=SECOND + crash)
    (alone,) = runs(engine, exercise2=SECOND + crash)
    assert second == alone
    assert "without an answer" in " ".join(check.message for check in second.checks)


def test_what_nobody_set_is_the_same_in_a_used_child(engine: Engine, started: list[Child]) -> None:
    asked = "\nimport torch\nprint(torch.initial_seed(), torch.randn(3), torch.empty(999).max())\n"
    (alone,) = runs(engine, exercise2=SECOND + asked)
    _, second = runs(engine, exercise1=solution("exercise1"), exercise2=SECOND + asked)
    assert len(started) == 2
    assert "1.3824e+306" in second.output
    assert second == alone


def test_a_child_s_chance_is_seeded(engine: Engine) -> None:
    asked = "\nimport random, sys\nprint(random.random(), sys.flags.hash_randomization)\n"
    first, again = (runs(engine, exercise2=SECOND + asked)[0].output for _ in range(2))
    assert first == again
    assert first.endswith(" 0")


def test_an_interrupted_exercise_leaves_no_child(
    engine: Engine, started: list[Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {"exercise1": solution("exercise1"), "exercise2": SECOND}
    chosen = [engine.folder.course.exercise(name) for name in texts]
    graded = engine.runs(chosen, handed_in(engine, texts), quick=True)
    next(graded)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Channel, "receive", interrupt)
    with pytest.raises(KeyboardInterrupt):
        next(graded)
    assert len(started) == 1


def test_an_interview_that_does_not_begin_leaves_no_child(
    warm: WarmProcess, folder: CourseFolder, started: list[Child]
) -> None:
    leaves = _job("exercise1", "import os\nos._exit(3)\n", {})
    with pytest.raises(Closed):
        Interview(warm, leaves, folder.course.limits)
    assert len(started) == 1


def test_an_interview_waits_longer_than_a_call_may_take(
    warm: WarmProcess, folder: CourseFolder
) -> None:
    """On a busy machine the smallest inputs are found, too."""
    busy = _job("exercise1", f"import time\ntime.sleep(1.0)\n{_FOUND}", {})
    limits = folder.course.limits.model_copy(update={"case_seconds": 0.2})
    interview = Interview(warm, busy, limits)
    answer = interview.ask(_CALL, bytes(safetensors.numpy.save({})))
    interview.close()
    assert answer.status is AnswerStatus.OK


# ---- stand-ins -----------------------------------------------------------------------------------

_CALL = plain_call("1", "found")
_FOUND = "import torch\ndef found():\n    return torch.tensor(1.0)\n"


def _job(stem: str, text: str, earlier: dict[str, str], *, own: bool = False) -> Job:
    units = {name: [(f"stand-in {name}", served)] for name, served in earlier.items()}
    return Job(stem, [(f"{stem}.py", text)], False, units, units if own else {}, [])


@pytest.mark.parametrize("where", ["class Held:\n    table", "def found():\n    return"])
def test_what_has_no_room_in_a_used_child_gets_a_fresh_one(
    where: str, warm: WarmProcess, folder: CourseFolder, started: list[Child]
) -> None:
    most = 2**17 * folder.course.limits.data_mib * 2 // 3
    take = f"torch.zeros({most}, dtype=torch.float64)"
    holds = _job("exercise1", f"import torch\nclass Held:\n    table = {take}\n", {})
    takes = _job("exercise2", f"import torch\n{where} {'= ' * ('Held' in where)}{take}\n", {})
    kept, limits = SharedChild(), folder.course.limits
    first = collect(warm, holds, [_CALL], b"", limits, kept=kept)
    assert first.greeting is not None
    assert first.greeting.error is None
    assert kept.collect(takes, [_CALL], b"", limits) is None
    fresh = collect(warm, takes, [_CALL], b"", limits)
    kept.close()
    assert fresh.greeting is not None
    assert fresh.greeting.error is None
    assert len(started) == 2


def test_a_text_that_does_not_look_for_memory_finds_as_much_as_in_a_fresh_child(
    engine: Engine, folder: CourseFolder, started: list[Child]
) -> None:
    engine = replace(engine, folder=folder)  # so much memory takes a busy machine a second
    megabytes = 2**17 * folder.course.limits.data_mib * 2 // 3
    held = f"\nclass Held:\n    table = torch.zeros({megabytes})\n"
    tried = f"\ntry:\n    import torch\n    torch.zeros({megabytes})\nexcept RuntimeError:\n"
    tried += "    del QKVProjection\n"
    _, second = runs(engine, exercise1=solution("exercise1") + held, exercise2=SECOND + tried)
    assert_full(second)
    assert len(started) == 2


_CORRECT = {"exercise1": "def correct(): pass\n"}
_NEXT = {  # the job that comes to a child with the stand-in of exercise 1, and whether it may
    "one that has it too": (_job("exercise3", _FOUND, _CORRECT), True),
    "its own exercise": (_job("exercise1", _FOUND, {}), False),
    "one with the submission's own": (_job("exercise4", _FOUND, _CORRECT, own=True), False),
    "one that has none": (_job("exercise4", _FOUND, {}), False),
    "one that looks around": (_job("exercise3", "import gc\n" + _FOUND, _CORRECT), False),
}


@pytest.mark.parametrize(("job", "may"), _NEXT.values(), ids=list(_NEXT))
def test_a_job_meets_no_standin_that_it_would_not_have(
    job: Job, may: bool, warm: WarmProcess, folder: CourseFolder, started: list[Child]
) -> None:
    kept, limits = SharedChild(), folder.course.limits
    using = _job("exercise2", "import exercise1\n" + _FOUND, _CORRECT)
    collect(warm, using, [_CALL], b"", limits, kept=kept)
    found = kept.collect(job, [_CALL], b"", limits)
    kept.close()
    assert (found is not None) == may
    assert len(started) == 1


def test_a_child_of_one_split_is_gone_before_another_splits_cases_run(
    warm: WarmProcess, folder: CourseFolder, started: list[Child]
) -> None:
    job, limits = _job("exercise1", _FOUND, {}), folder.course.limits
    with Shared(Clock(limits, 1)) as shared:
        saw_hidden = shared.child(HIDDEN)
        collect(warm, job, [_CALL], b"", limits, kept=saw_hidden)
        collect(warm, job, [_CALL], b"", limits, kept=shared.child(PUBLIC))
        assert saw_hidden.collect(job, [_CALL], b"", limits) is None
        assert shared.child(PUBLIC).collect(job, [_CALL], b"", limits) is not None
    assert len(started) == 2


@pytest.mark.parametrize("sent", [("answers", b"x"), ("output", b"x"), ("answers", b"")])
def test_a_channel_is_quiet_until_something_comes_or_ends(sent: tuple[str, bytes]) -> None:
    (job_in, job), (answers, answers_out), (output, output_out) = (os.pipe() for _ in range(3))
    child = Child(0, job, answers, output)
    channel = Channel(child, payload_cap=1, output_cap=1)
    before = channel.quiet
    theirs = {"answers": answers_out, "output": output_out}
    if sent[1]:
        os.write(theirs[sent[0]], sent[1])
    else:
        os.close(theirs.pop(sent[0]))
    after = channel.quiet
    channel.close()
    child.close()
    for end in (job_in, *theirs.values()):
        os.close(end)
    assert (before, after) == (True, False)


def test_a_later_job_finds_its_own_imports(
    warm: WarmProcess, folder: CourseFolder, started: list[Child]
) -> None:
    text = "import torch, exercise1\nfrom exercises.exercise1 import value\n"
    text += "def found():\n    return torch.tensor(float(value + exercise1.value))\n"
    kept, limits = SharedChild(), folder.course.limits
    one = _job("exercise2", text, {"exercise1": "value = 1\n"}, own=True)
    two = _job("exercise3", text, {"exercise1": "value = 2\n"}, own=True)
    none = _job("exercise4", text, {"exercise1": "other = 3\n"}, own=True)
    first = collect(warm, one, [_CALL], b"", limits, kept=kept)
    second = kept.collect(two, [_CALL], b"", limits)
    third = kept.collect(none, [_CALL], b"", limits)
    kept.close()
    assert second is not None
    assert third is not None
    values = [c.answers["1"].tensors["output/output"] for c in (first, second)]
    assert [value.sum() for value in values] == [2, 4]
    assert third.greeting is not None
    assert third.greeting.error is not None
    assert third.greeting.error.type == "ImportError"
    assert len(started) == 1


@pytest.mark.long
def test_exercise_that_hangs_leaves_the_others_their_time(engine: Engine) -> None:
    times = {
        "case_seconds": 30,
        "target_seconds": 30,
        "submission_seconds": 10,
        "total_seconds": 18,
    }
    limits = engine.folder.course.limits.model_copy(update=times)
    course = engine.folder.course.model_copy(update={"limits": limits})
    slow = replace(engine, folder=replace(engine.folder, course=course))
    hang = "while True:\n    pass\n"
    names = ["exercise1", "exercise3", "exercise4"]
    texts = {"exercise1": hang, "exercise3": hang, "exercise4": solution("exercise4")}
    begun = time.monotonic()
    first, second, right = runs(slow, **{name: texts[name] for name in names})
    assert time.monotonic() - begun < 3 * 18
    assert_full(right)
    assert "the whole file took more than 10 seconds" in first.checks[0].message
    assert "all files of the submission together may take 18 seconds" in second.checks[0].message
