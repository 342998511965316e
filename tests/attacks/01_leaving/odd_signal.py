# process, instead of stub: ends itself by a signal that has no name
import os

os.kill(os.getpid(), 40)
