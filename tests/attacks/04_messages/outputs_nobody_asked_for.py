# process, instead of stub: answers with outputs of other names than those that are due
import torch

from grader.worker import harness


def answered(self, call):
    names = ("output/other", "output/", "output/output/output", "outputs/x")
    return {"call": call.id, "status": "ok", "info": {}}, {n: torch.ones(2, 3) for n in names}


harness.Session.answer = answered
