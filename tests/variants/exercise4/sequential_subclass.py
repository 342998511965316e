"""FeedForward is itself an nn.Sequential made of an OrderedDict, so it needs no forward."""
from collections import OrderedDict

from torch import nn

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU}


class FeedForward(nn.Sequential):
    def __init__(self, embed_dim, *, hidden_dim=None, dropout=0.0, activation="relu"):
        try:
            act = ACTIVATIONS[activation]
        except KeyError:
            raise ValueError(f"activation is one of {sorted(ACTIVATIONS)}, not {activation!r}") from None
        hidden = 4 * embed_dim if hidden_dim is None else hidden_dim
        super().__init__(
            OrderedDict(
                expand=nn.Linear(embed_dim, hidden),
                act=act(),
                contract=nn.Linear(hidden, embed_dim),
                drop=nn.Dropout(p=dropout),
            )
        )
