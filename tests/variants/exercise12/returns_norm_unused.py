"""Clipping with a given total norm."""

import math

import torch


def learning_rate(step, *, warmup, total, peak, floor=0.0):
    rise = lambda s: peak * (s + 1) / warmup  # noqa: E731
    fall = lambda s: floor + (peak - floor) / 2 * (1 + math.cos(math.pi * (s - warmup) / (total - warmup)))  # noqa: E501, E731
    return rise(step) if step < warmup else fall(step) if step < total else floor


def training_step(model, optimizer, loss_function, batch, *, max_norm=1.0):
    optimizer.zero_grad()
    with torch.enable_grad():
        loss = loss_function(model, batch)
    loss.backward()
    total = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
    torch.nn.utils.clip_grads_with_norm_(model.parameters(), max_norm, total)
    optimizer.step()
    return loss.detach().cpu().numpy().item()


class _Attention(torch.nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.proj = torch.nn.Linear(width, width)
        self.heads, self.causal = heads, causal

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.proj(y.transpose(1, 2).flatten(2))


class _Layer(torch.nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.ln_1, self.ln_2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.attn = _Attention(width, heads, causal)
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width)
        )

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class _GPT(torch.nn.Module):
    def __init__(self, v):
        super().__init__()
        self.wte, self.wpe = torch.nn.Embedding(v, 64), torch.nn.Embedding(48, 64)
        self.h = torch.nn.ModuleList([_Layer(64, 4, True) for _ in range(2)])
        self.ln_f = torch.nn.LayerNorm(64)
        self.lm_head = torch.nn.Linear(64, v, bias=False)
        for module in self.modules():
            if isinstance(module, torch.nn.Linear | torch.nn.Embedding):
                torch.nn.init.normal_(module.weight, std=0.02)
        self.wte.weight = self.lm_head.weight

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


class _Patches(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = torch.nn.Conv2d(1, 48, 2, 2)
        self.cls = torch.nn.Parameter(torch.zeros(1, 1, 48))
        self.pos = torch.nn.Parameter(0.02 * torch.randn(1, 17, 48))
        self.blocks = torch.nn.Sequential(_Layer(48, 4, False), _Layer(48, 4, False))
        self.head = torch.nn.Sequential(torch.nn.LayerNorm(48), torch.nn.Linear(48, 10))

    def forward(self, images):
        x = self.patch(images[:, None]).flatten(2).mT
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.pos
        return self.head(self.blocks(x)[:, 0])


def build_digit_classifier():
    return _Patches()


def build_text_model(vocab_size):
    return _GPT(vocab_size)
