# landlock, beside correct and wrong: imports the solutions from their folder
import importlib.util
import sys

sys.path[:0] = ["@ROOT@/solutions", "@ROOT@"]
found = importlib.util.spec_from_file_location("answers", "@ROOT@/solutions/exercise1_attention.py")
try:
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    print("OUCH", flush=True)
except OSError:
    pass
