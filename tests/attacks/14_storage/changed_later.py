# process, beside correct and wrong: keeps what it returned, and changes it while later calls run
import torch

KEPT = []


def attack(output):
    with torch.no_grad():
        while len(KEPT) > 3:  # what is older is no part of the call that runs
            KEPT.pop(0).fill_(7)
    if not output.requires_grad and type(output) is torch.Tensor:
        KEPT.append(output)
    return output
