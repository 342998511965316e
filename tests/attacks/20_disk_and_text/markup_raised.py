# process, instead of stub: puts control codes, markup and formulas into names and messages
MARKUP = "\x1b[2J<script>alert(1)</script>\r\n=HYPERLINK(1)\u202e\u2066\x00\x9b31m\ud800"


def self_attention(x):
    raise type(MARKUP.replace("\x00", "").replace("\ud800", ""), (Exception,), {})(MARKUP)


def attention_weights(query, key, scale=None):
    error = KeyError(MARKUP)
    error.add_note(MARKUP)
    raise error


def scaled_dot_product_attention(query, key, value, scale=None):
    raise AttributeError(MARKUP, name=MARKUP, obj=query)
