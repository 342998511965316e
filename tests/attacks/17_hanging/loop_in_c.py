# process, instead of stub: never comes to an end, in C, where no Python signal handler runs
import collections
import itertools

collections.deque(itertools.repeat(0), maxlen=0)
