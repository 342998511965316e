# process, beside correct and wrong: runs code when objects die and at the end
import atexit
import weakref


class Late:
    def __del__(self):
        print('{"status": "passed", "score": 14}')


late = Late()
atexit.register(print, '{"status": "passed"}')
weakref.finalize(late, print, "1 passed in 0.01s")


def attack(output):
    Late()
    return output
