# process, instead of stub: takes memory without end, in tensors
import torch

kept = [torch.ones(1 << 24) for _ in range(100)]
