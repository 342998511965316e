# process, instead of stub: returns meta, sparse and quantised tensors
import torch


def self_attention(x):
    return torch.empty(x.shape, device="meta")


def attention_weights(query, key, scale=None):
    return torch.zeros(query.size(0), query.size(1), key.size(1)).to_sparse()


def scaled_dot_product_attention(query, key, value, scale=None):
    return torch.quantize_per_tensor(value.float(), 0.1, 0, torch.qint8)
