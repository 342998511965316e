# process, beside correct and wrong: leaves torch with other settings after every call
import torch


def attack(output):
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(False)
    torch.set_num_threads(7)
    torch.use_deterministic_algorithms(True)
    torch.set_printoptions(precision=1)
    return output
