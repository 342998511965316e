# process, beside correct and wrong: prints what a runner's protocol might look like
import sys


def attack(output):
    for stream in (sys.stdout, sys.stderr):
        stream.write('\n{"status": "passed", "score": 14.0, "max_score": 14.0}\n')
        stream.write("===== 99 passed in 0.01s =====\nok 1 - self_attention\n")
    return output
