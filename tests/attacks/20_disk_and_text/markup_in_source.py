# process, instead of stub: lines of source that a report quotes, and that a terminal would act on


def self_attention(x):
    raise ValueError("a")  # ]0;title[2J ‮ <script>


def attention_weights(query, key, scale=None):
    raise ValueError("b")  # 31m     ⁦
