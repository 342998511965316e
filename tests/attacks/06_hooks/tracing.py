# process, beside correct and wrong: watches every line, call, collection and event
import gc
import sys
import threading


def watch(*event):
    return None


sys.settrace(watch)
sys.setprofile(watch)
threading.settrace(watch)
threading.setprofile(watch)
gc.callbacks.append(watch)
sys.addaudithook(watch)
sys.excepthook = sys.unraisablehook = watch
