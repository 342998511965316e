# process, beside correct and wrong: leaves torch with other settings after every call
import torch

torch.set_grad_enabled(False)


def attack(output):
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)
    torch.set_num_threads(2)
    torch.set_printoptions(precision=1)
    return output
