"""Code that plays with Keras itself moves no score, neither its own nor another exercise's.

Keras' `run_eagerly` and its kin belong to `Model.compile`: they say how `fit` and `predict` run a
step. Layers are called by themselves here, so they change nothing. What is set or patched beside
them may cost its author points, and earns none.
"""

from pathlib import Path

import pytest
from support import TESTS, edited

from grader.course.load import CourseFolder, load_course
from grader.execute.launch import WarmProcess
from grader.grading.engine import Engine, open_engine
from grader.handin.read import Source, Submission
from grader.key.cache import load_keys
from grader.records.calls import PUBLIC
from grader.records.results import ExerciseResult

COURSE = TESTS / "courses" / "keras"
FIRST, SECOND = "exercise1_attention.py", "exercise2_self_attention.py"
RIGHT = {name: (COURSE / "solutions" / name).read_text("utf-8") for name in (FIRST, SECOND)}
WRONG = edited(RIGHT[SECOND], ("self.to_keys(inputs)", "self.to_queries(inputs)"))
pytestmark = pytest.mark.xdist_group("keras")

HARMLESS = {  # a right submission keeps all its points
    "eager": "model = keras.Sequential([keras.layers.Dense(1)])\n"
    "model.compile(loss='mse', run_eagerly=True)",
    "not eager": "keras.Model.run_eagerly = property(lambda self: False)",
    "compiled": "import torch\ntorch.compile = lambda function, **_: function\n"
    "keras.Sequential([keras.layers.Dense(1)]).compile(loss='mse', jit_compile=True)",
    "float16": "keras.config.set_floatx('float16')",
    "policy": "keras.config.set_dtype_policy('mixed_float16')",
    "seed": "keras.utils.set_random_seed(1)",
    "epsilon": "keras.config.set_epsilon(1e3)",
    "session": "keras.utils.clear_session()",
    "filtering": "keras.config.enable_traceback_filtering()",
    "environment": "import os\nos.environ['KERAS_BACKEND'] = 'jax'",
}
PATCHES = {  # what it costs is its author's business
    "variables": "keras.layers.Layer.trainable_variables = property(lambda self: [])",
    "built": "keras.layers.Layer.built = True",
    "close": "import numpy, torch\nnumpy.isclose = numpy.allclose = lambda *_, **__: True\n"
    "torch.allclose = torch.equal = lambda *_, **__: True",
    "anew": "import sys\nfor name in [n for n in sys.modules if n.startswith('keras')]:\n"
    "    del sys.modules[name]\nimport keras",
    "wrapper": "keras.layers.TorchModuleWrapper.call = lambda self, *args, **_: args[0]",
    "mode": "keras.layers.Layer.__call__ = lambda self, *args, **_: self.call(*args)",
}


@pytest.fixture(scope="module")
def engine(key_cache: Path, warm: WarmProcess) -> Engine:  # noqa: ARG001 - keys are built
    """Open the first part of the course."""
    folder: CourseFolder = load_course(COURSE)
    exercises = [folder.course.exercise(one) for one in ("exercise1", "exercise2")]
    load_keys(folder, [one.id for one in exercises], PUBLIC)
    return open_engine(folder, exercises, warm)


def graded(engine: Engine, texts: dict[str, str]) -> list[ExerciseResult]:
    """Return the results of both exercises of one submission."""
    exercises = engine.folder.course.exercises[:2]
    sources = {e.id: Source(e.file, units=((e.file, texts[e.file]),)) for e in exercises}
    return [run.result for run in engine.runs(exercises, Submission(sources), quick=True)]


@pytest.fixture(scope="module")
def plain(engine: Engine) -> float:
    """Return what the wrong layer is worth by itself."""
    _, second = graded(engine, {**RIGHT, SECOND: WRONG})
    assert 0 < second.score < second.max_score
    return second.score


@pytest.mark.parametrize("game", HARMLESS.values(), ids=HARMLESS)
def test_setting_of_keras_moves_no_score(game: str, engine: Engine, plain: float) -> None:
    right, wrong = (
        graded(
            engine, {FIRST: f"import keras\n{RIGHT[FIRST]}\n{game}\n", SECOND: f"{text}\n{game}\n"}
        )
        for text in (RIGHT[SECOND], WRONG)
    )
    assert [one.score for one in right] == [10, 20]
    assert [one.score for one in wrong] == [10, plain]


@pytest.mark.parametrize("game", PATCHES.values(), ids=PATCHES)
def test_patch_of_keras_earns_nothing(game: str, engine: Engine, plain: float) -> None:
    wrong = graded(engine, {**RIGHT, SECOND: f"{WRONG}\n{game}\n"})
    assert wrong[0].score == 10
    assert wrong[1].score <= plain


@pytest.mark.parametrize("game", [*HARMLESS.values(), *PATCHES.values()], ids=[*HARMLESS, *PATCHES])
def test_game_in_one_exercise_leaves_the_next_alone(game: str, engine: Engine) -> None:
    played = graded(engine, {**RIGHT, FIRST: f"import keras\n{RIGHT[FIRST]}\n{game}\n"})
    assert played[1].score == 20
