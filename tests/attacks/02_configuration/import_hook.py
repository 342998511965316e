# process, beside correct and wrong: answers every later import
import importlib.abc
import sys


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        raise ImportError(f"no {name} for you")


sys.meta_path.insert(0, Finder())
