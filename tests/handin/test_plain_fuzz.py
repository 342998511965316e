"""Random programs: what is called plain leaves torch, numpy and Python as they were."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from grader.handin.plain import is_plain

pytestmark = pytest.mark.long  # runs hundreds of random programs

_PROGRAMS = 250  # that are plain, and run

# what a program may reach, and the names that lead from there; many lead astray
_ROOTS = (
    "torch", "nn", "F", "math", "np", "functools", "operator", "enum", "dataclasses", "typing",
    "collections", "itertools", "copy", "abc", "numbers", "x", "layer", "self", "Own", "made",
    "print", "int", "dict", "type", "object", "super()", "Own()", "torch.nn", "torch.Tensor",
    "nn.Linear", "nn.Module", "nn.functional", "torch.nn.init", "collections.OrderedDict",
    "functools.partial", "enum.Enum", "typing.NamedTuple", "np.ndarray", "np.random", "[].append",
)  # fmt: skip
_NAMES = (
    "forward", "data", "grad", "weight", "bias", "training", "relu", "softmax", "sqrt", "pi", "nn",
    "float64", "float32", "manual_seed", "set_default_dtype", "set_grad_enabled", "no_grad",
    "set_num_threads", "use_deterministic_algorithms", "register_forward_hook", "apply", "init",
    "register_buffer", "__dict__", "__class__", "__bases__", "__globals__", "__closure__",
    "__setattr__", "__init__", "__call__", "__add__", "__module__", "__self__", "__func__",
    "__code__", "__defaults__", "__kwdefaults__", "__annotations__", "__wrapped__", "__name__",
    "__subclasses__", "__init_subclass__", "__set_name__", "__class_getitem__", "_C", "_modules",
    "_parameters", "_buffers", "_version", "register", "update", "clear", "pop", "append", "cache",
    "extend", "add", "remove", "sort", "setdefault", "requires_grad_", "fill_", "copy_", "zero_",
    "cache_clear", "cache_info", "dispatch", "registry", "backends", "utils", "random", "seed",
    "seterr", "testing", "set_printoptions", "setflags", "lru_cache", "wraps", "reduce", "partial",
    "singledispatch", "total_ordering", "cached_property", "Enum", "field", "make_dataclass",
    "namedtuple", "deque", "Counter", "ChainMap", "UserDict", "setitem", "delitem", "attrgetter",
    "methodcaller", "iadd", "deepcopy", "dispatch_table", "get_type_hints", "Generic", "Protocol",
    "runtime_checkable", "overload", "get_overloads", "clear_overloads", "ABCMeta", "Number",
    "Parameter", "Linear", "Module", "Sequential", "ModuleList", "Dropout", "Softmax", "eval",
    "train", "to", "type", "T", "shape", "real", "imag", "half", "double", "compile", "ops",
)  # fmt: skip
_PLACES = ("x", "self.a", "torch.a", "torch.pi", "math.pi", "nn.Linear.a", "Own.a", "made['a']",
           "torch.__dict__['a']", "x[0]", "layer.weight.data", "layer.a", "F.relu", "int.a",
           "nn.Module.forward", "(torch.a, x)", "[*torch.a]", "np.pi", "torch.nn.a")  # fmt: skip

roots = st.sampled_from(_ROOTS)
names = st.sampled_from(_NAMES)
chains = st.builds(lambda r, n: ".".join([r, *n]), roots, st.lists(names, max_size=2))
values = st.one_of(
    chains,
    st.builds(lambda c, a: f"{c}({a})", chains, chains),
    st.builds(lambda c, n, a: f"{c}({n}={a})", chains, names, chains),
    st.builds(lambda c, a, b: f"{c}({a}, 'a', {b})", chains, chains, chains),
    st.builds(lambda c, n: f"{c}['{n}']", chains, names),
    st.builds(lambda a, b: f"{a} + {b}", chains, chains),
    st.builds(lambda c, p: f"[{c} for {p} in ({c}, 1)]", chains, st.sampled_from(["x", "made"])),
    st.builds(lambda c: f"(lambda: {c})()", chains),
    st.builds(lambda n, c: f"type('T', ({c},), {{'{n}': {c}}})", names, chains),
    st.builds(lambda c: f"{{**vars({c})}}", chains),
    st.sampled_from(["1", "'a'", "x", "torch.zeros(2)", "nn.Linear(2, 2)", "lambda *a, **k: 1"]),
)
places = st.one_of(st.sampled_from(_PLACES), chains)
methods = st.builds(
    lambda n, v: f"    def {n}(self, *a, **k):\n        return {v}\n",
    st.sampled_from([n for n in _NAMES if n.startswith("__")] + ["forward", "method"]),
    values,
)
_STATEMENTS = (  # {place}, {value}, {chain}, {name}, {root}, {alias}, {method} are filled in
    "{place} = {value}",
    "{place} += {value}",
    "{value}",
    "del {place}",
    "for {place} in [{value}]:\n    pass",
    "with {value} as {place}:\n    pass",
    "from {root} import {name} as {alias}",
    "import {root} as {alias}",
    "@{value}\ndef made(x=1):\n    return {value}",
    "@{value}\nclass Own({chain}):\n{method}",
    "class Own({chain}, {name}={value}):\n{method}",
    "@dataclasses.dataclass\nclass Own:\n    {name}: int = {value}",
    "match {value}:\n    case {root}({name}=x):\n        pass",
    "try:\n    {value}\nexcept {chain} as made:\n    pass",
    "made = lambda a={value}: (x := {value})",
    "class Own(nn.Module):\n    def forward(self, x):\n        return {value}\nOwn()(x)",
    "class Own:\n    def __init__(self):\n        {place} = {value}\nOwn()",
    "global torch\n{value}",
    "class Own(enum.Enum):\n    {name} = {value}",
)
filled = st.fixed_dictionaries(
    {
        "place": places,
        "value": values,
        "chain": chains,
        "name": names,
        "root": roots,
        "alias": st.sampled_from(["x", "made", "torch"]),
        "method": methods,
    }
)
statements = st.builds(
    lambda form, parts: form.format(**parts), st.sampled_from(_STATEMENTS), filled
)
programs = st.lists(statements, min_size=1, max_size=3).map("\n".join)
_HEAD = """import abc, collections, copy, dataclasses, enum, functools, itertools, math, numbers
import operator, typing
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F
x, layer, made = torch.zeros(2), nn.Linear(2, 2), {}
"""

_RUNNER = """
import ast, builtins, contextlib, io, json, math, operator, functools, collections, enum, copy, sys
import dataclasses, typing, itertools, numbers, abc, random
import numpy, numpy.random, torch, torch.nn, torch.nn.functional, torch.nn.init
torch.set_num_threads(1)

CLASSES = [torch.Tensor, torch.nn.Module, torch.nn.Linear, torch.nn.Dropout, torch.nn.Parameter,
           numpy.ndarray, enum.Enum, collections.OrderedDict, typing.Protocol]
MODULES = [builtins, math, operator, functools, collections, enum, copy, dataclasses, typing,
           itertools, numbers, abc, numpy, numpy.random, torch, torch.nn, torch.nn.functional,
           torch.nn.init, torch.backends.cudnn, sys]
QUIET = {"last_type", "last_value", "last_traceback", "_", "modules"}

def snapshot():
    parts = {}
    for one in [*MODULES, *CLASSES]:
        for name, value in vars(one).items():
            if name not in QUIET and not name.startswith("_abc_"):
                parts[f"{one.__name__}.{name}"] = id(value)
    for name in ("forward", "__init__", "__call__", "__setattr__"):
        function = torch.nn.Linear.__dict__.get(name)
        if function is not None:
            parts[f"code of {name}"] = (id(function.__code__), repr(function.__defaults__))
    parts["settings"] = repr([
        torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_num_threads(),
        torch.are_deterministic_algorithms_enabled(), torch.is_inference_mode_enabled(),
        torch.backends.cudnn.enabled, sys.getrecursionlimit(), numpy.geterr(),
        numpy.get_printoptions(), torch.relu(torch.ones(1) * -2), math.sqrt(4),
        list(copy.dispatch_table)[:0], sys.gettrace(), sys.getprofile(), len(sys.meta_path),
    ])
    return parts

kept = []  # what programs made stays alive: no id is used again
before = snapshot()
for number, text in enumerate(json.load(open(sys.argv[1]))):
    space = {"__name__": "submission"}
    kept.append(space)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for node in ast.parse(text).body:
            try:
                exec(compile(ast.Module([node], []), "submission", "exec"), space)
            except BaseException:
                pass
    after = snapshot()
    if after != before:
        changed = {k for k in before.keys() | after.keys() if before.get(k) != after.get(k)}
        print(json.dumps({"program": text, "changed": sorted(changed)[:5]}))
        sys.exit(1)
print("unchanged")
"""


def test_plain_programs_leave_everything_as_it_was(tmp_path: Path) -> None:
    plain: dict[str, None] = {}

    @settings(
        max_examples=20 * _PROGRAMS, database=None, deadline=None, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(programs)
    def collect(text: str) -> None:
        if len(plain) < _PROGRAMS and is_plain([("a.py", _HEAD + text)], ()):
            plain[_HEAD + text] = None

    collect()
    assert len(plain) == _PROGRAMS
    assert _run(list(plain), tmp_path) == "unchanged"


@pytest.mark.parametrize(
    "text",
    [
        "torch.pi = 3",
        "math.__dict__['pi'] = 3",
        "nn.Linear.forward.__defaults__ = (1,)",
        "torch.set_default_dtype(torch.float64)",
        "np.seterr(all='raise')",
        "import builtins\nbuiltins.x = 1",
    ],
)
def test_a_change_is_noticed(text: str, tmp_path: Path) -> None:
    assert not is_plain([("a.py", _HEAD + text)], ())
    assert _run([_HEAD + text], tmp_path) != "unchanged"


def _run(texts: Sequence[str], folder: Path) -> str:
    (folder / "programs.json").write_text(json.dumps(texts), encoding="utf-8")
    command = [sys.executable, "-c", _RUNNER, str(folder / "programs.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.stdout, done.stderr[-2000:]
    return done.stdout.splitlines()[-1]
