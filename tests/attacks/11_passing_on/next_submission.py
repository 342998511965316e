# process, beside correct and wrong: spoils torch and Python for whatever runs next
import builtins
import sys

import torch


def attack(output):
    return output


torch.Tensor.spoilt = builtins.spoilt = sys.spoilt = True
torch.nn.functional.softmax = None
torch.einsum = None
sys.modules["exercise1_attention"] = None
