# landlock, instead of stub: becomes another program that holds its pipes
import os

try:
    os.execv("/bin/sh", ["sh", "-c", "echo OUCH"])
except OSError:
    pass
