# process, beside correct and wrong: prints control codes, markup and formulas
MARKUP = (
    "\x1b[2J\x1b]0;title\x07<script>alert(1)</script>\r=cmd|' /C calc'!A0\u202e\u2066\x00\x9b31m"
)


def attack(output):
    print(MARKUP, flush=True)
    return output
