"""The definition read aloud: each query position in turn, its outputs written into a new tensor."""
import torch
import torch.nn.functional as F


def self_attention(x):
    b, t, k = x.size()
    y = x.new_zeros(b, t, k)
    for i in range(t):
        scores = (x[:, i].unsqueeze(1) * x).sum(dim=2)  # (b, t): x_i . x_j for each j
        w = F.softmax(scores, dim=1)
        y[:, i] = (w.unsqueeze(2) * x).sum(dim=1)
    return y


def attention_weights(query, key, scale=None):
    b, t_q, d = query.size()
    t_k = key.size(1)
    if scale is None:
        scale = d ** (-0.5)
    rows = query.new_empty((b, t_q, t_k))
    for i in range(t_q):
        rows[:, i, :] = F.softmax((query[:, i : i + 1] * key).sum(-1) * scale, dim=-1)
    return rows


def scaled_dot_product_attention(query, key, value, scale=None):
    weights = attention_weights(query, key, scale=scale)
    answers = []
    for i in range(query.size(1)):
        w = weights[:, i, :, None]  # (b, t_k, 1)
        answers.append((w * value).sum(1))
    return torch.stack(answers, dim=1)
