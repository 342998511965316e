"""The second norm is called after the attention that it follows, as in many a library."""

import torch
from torch import nn
class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, norm_first=False, dropout=0.0):
        super().__init__()
        self.self_attn, self.mlp = attention, feed_forward
        self.input_layernorm = nn.LayerNorm(embed_dim)
        self.post_attention_layernorm = nn.LayerNorm(embed_dim)
        self.d = nn.Dropout(dropout)
        self.pre = norm_first
    def forward(self, hidden_states):
        residual = hidden_states
        if self.pre:
            hidden_states = self.input_layernorm(hidden_states)
            hidden_states = residual + self.d(self.self_attn(hidden_states))
            residual = hidden_states
            hidden_states = self.post_attention_layernorm(hidden_states)
            return residual + self.d(self.mlp(hidden_states))
        h = self.input_layernorm(residual + self.d(self.self_attn(residual)))
        return self.post_attention_layernorm(h + self.d(self.mlp(h)))
