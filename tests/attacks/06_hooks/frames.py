# process, beside correct and wrong: looks through the frames of the harness for answers
import sys

WORDS = ("expected", "reference", "solution", "suspects", "verdict", "answer_key")


def attack(output):
    frame = sys._getframe()
    while frame is not None:
        for names in (frame.f_locals, frame.f_globals):
            for name in list(names):
                if any(word in name.lower() for word in WORDS):
                    print("OUCH", name, flush=True)
        frame = frame.f_back
    return output
