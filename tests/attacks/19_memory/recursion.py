# process, instead of stub: overflows the stack
import sys

sys.setrecursionlimit(10**9)


def self_attention(x):
    return repr(deep())


def deep():
    kept = []
    for _ in range(10**6):
        kept = [kept]
    return [deep()] + kept


attention_weights = scaled_dot_product_attention = lambda *inputs, **options: deep()
deep()
