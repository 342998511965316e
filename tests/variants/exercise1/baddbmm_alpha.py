"""Scale and product in one call: torch.baddbmm with beta=0 and alpha=scale."""
import torch


def _scaled_scores(q, k, alpha):
    # with beta=0 the first argument is never read, it only has to broadcast
    nothing = q.new_zeros(1, 1, 1)
    return torch.baddbmm(nothing, q, k.permute(0, 2, 1), beta=0, alpha=alpha)


def self_attention(x):
    w = torch.softmax(_scaled_scores(x, x, 1.0), -1)
    return w.bmm(x)


def attention_weights(query, key, scale=None):
    alpha = float(query.size(2)) ** (-1 / 2) if scale is None else scale
    return torch.softmax(_scaled_scores(query, key, alpha), -1)


def scaled_dot_product_attention(query, key, value, scale=None):
    return attention_weights(query, key, scale=scale).bmm(value)
