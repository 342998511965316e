# process, beside correct and wrong: keeps what it returned, and changes it while later calls run
import threading
import time

import torch

KEPT = []


def attack(output):
    if KEPT:
        with torch.no_grad():
            KEPT.pop().fill_(7)
    if not output.requires_grad:
        KEPT.append(output)
    return output
