"""Plain code leaves nothing behind in its process; all else is not plain."""

import pytest
from support import EXERCISES, TESTS, solution

from grader.course.load import CourseFolder
from grader.handin.plain import is_plain

SERVED = {"exercises", "exercise1", "exercise1_attention"}
HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
SECOND = solution("exercise2")


PLAIN = {
    "a layer": "class A(nn.Module):\n    def __init__(self, k):\n        super().__init__()\n"
    "        self.linear = nn.Linear(k, k)\n        self._scale: float = k ** -0.5\n",
    "a parameter set": "class A:\n    def f(self):\n        self.a.weight.data.fill_(1)\n"
    "        self.a.bias = None\n        self.register_buffer('b', torch.ones(2))\n",
    "a table": "def f(x):\n    x[:, 0::2] = torch.sin(x[:, 0::2])\n    x.requires_grad_()\n",
    "an exercise": "from exercise1_attention import attention_weights\nimport exercise1 as one\n",
    "a script's end": "if __name__ == '__main__':\n    print(torch.randn(2))\n",
    "a step without gradients": "with torch.no_grad():\n    x = torch.trace(torch.eye(2))\n",
    "a generator": "def f(n):\n    for i in range(n):\n        yield nn.Linear(i, i)\n",
    "a helper": "from exercise1 import _scores, np_table as _table\n",
    "clipping": "def f(model):\n    nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n",
    "a device": "device = 'cuda' if torch.cuda.is_available() else 'cpu'\n",
}
NOT_PLAIN = {
    "a patch": "nn.Linear.forward = None\n",
    "a patch by another name": "layer = nn.Linear\nlayer.forward = None\n",
    "a patch in a tuple": "a, F.relu = 1, 2\n",
    "a patch in a loop": "for torch.exp in [1]:\n    pass\n",
    "a patch as a context": "with f() as torch.exp:\n    pass\n",
    "a patch of self's module": "class A:\n    def f(self):\n        self.nn.Linear = 1\n",
    "a deletion": "del torch.exp\n",
    "an entry": "nn.__dict__['Linear'] = 1\n",
    "an entry of what was imported": "from torch import nn as n\nn.names['Linear'] = 1\n",
    "an entry of a call's": "vars(nn)['Linear'] = 1\n",
    "an addition": "from exercise1 import names\nnames += [1]\n",
    "setattr": "setattr(nn, 'Linear', 1)\n",
    "a name looked up": "f = getattr(torch, 'set_default_device')\n",
    "text run": "exec('x = 1')\n",
    "clipping patched": "nn.utils.clip_grad_norm_ = print\n",
    "more of the utilities": "nn.utils.parametrize.P.cache = {}\n",
    "a setting": "torch.set_default_device('meta')\n",
    "a setting imported": "from torch import set_num_threads as f\n",
    "a setting of all": "from torch import *\nset_num_threads(3)\n",
    "determinism": "torch.use_deterministic_algorithms(True)\n",
    "backends": "torch.backends.mkldnn.enabled = False\n",
    "backends read": "flags = torch.backends.mkldnn\n",
    "anomalies": "torch.autograd.set_detect_anomaly(True)\n",
    "a hook": "nn.modules.module.register_module_forward_hook(print)\n",
    "a hook imported": "from torch.nn.modules.module import register_module_forward_hook\n",
    "compiling": "f = torch.jit.script(lambda x: x)\n",
    "a system module": "import sys\n",
    "a system module, by from": "from os import path\n",
    "threads": "from concurrent import futures\n",
    "warnings": "import warnings\nwarnings.simplefilter('error')\n",
    "an exercise that nobody serves": "import exercise9\n",
    "a relative import": "from . import exercise1\n",
    "hidden parts": "x = torch._C\n",
    "a context never left": "torch.no_grad().__enter__()\n",
    "builtins": "__builtins__['print'] = None\n",
    "classes of classes": "x = ().__class__.__base__.__subclasses__()\n",
    "numpy's settings": "import numpy as np\nnp.seterr(all='raise')\n",
    "a class by its object": "class A:\n    def f(self):\n        self.a.__class__.weight = 1\n",
    "a finalizer": "class A:\n    def __del__(self):\n        print()\n",
    "a finalizer assigned": "class A:\n    __del__ = print\n",
    "a context left later": "def f():\n    with torch.inference_mode():\n        yield 1\n",
    "an end that comes later": "def f():\n    try:\n        yield 1\n    finally:\n        f()\n",
    "a coroutine": "async def f():\n    async with torch.no_grad():\n        await g()\n",
    "a switch": "switch = torch.DisableTorchFunctionSubclass()\n",
    "Python by way of torch": "torch.builtins.setattr(nn, 'Linear', 1)\n",
    "warnings by way of torch": "F.warnings.simplefilter('error')\n",
    "warnings by a star": "from torch.nn.functional import *\nwarnings.simplefilter('error')\n",
    "hidden parts imported": "from torch import _jit_internal as jit\n",
    "a name called": "import operator\noperator.methodcaller('set_num_threads', 3)(torch)\n",
    "a copied forward": "from functools import update_wrapper\nupdate_wrapper(nn.Linear, 1)\n",
    "text evaluated": "from typing import get_type_hints\nget_type_hints('f')\n",
    "no Python": "def f(:\n",
}


@pytest.mark.parametrize("text", PLAIN.values(), ids=list(PLAIN))
def test_what_exercises_need_is_plain(text: str) -> None:
    assert is_plain([("a.py", HEAD + text)], SERVED)


@pytest.mark.parametrize("text", NOT_PLAIN.values(), ids=list(NOT_PLAIN))
def test_what_could_reach_the_next_exercise_is_not_plain(text: str) -> None:
    assert not is_plain([("a.py", HEAD), ("b.py", text)], SERVED)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_stubs_and_solutions_are_plain(exercise: str, folder: CourseFolder) -> None:
    (stub,) = (folder.root / "exercises").glob(f"{exercise}_*.py")
    stems = {e.stem for e in folder.course.exercises}
    for text in (stub.read_text(encoding="utf-8"), solution(exercise)):
        assert is_plain([("a.py", text)], stems)


def test_attacks_on_the_process_are_not_plain() -> None:
    attacks = [p for p in (TESTS / "attacks").glob("*/*.py") if p.parent.name != "controls"]
    plain = {p.parent.name[:2] for p in attacks if is_plain([("a.py", p.read_text())], SERVED)}
    # these only return or raise what is wrong, hang, print, or take memory
    assert plain <= {"10", "12", "13", "14", "15", "17", "19", "20"}
    assert len(attacks) > 80
