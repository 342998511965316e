"""nbgrader's own autograde tests, with grader's parts in its pipelines: `make nbgrader`.

They ship in its wheel. Their notebooks are no exercises of a course, so the executor hands them to
nbgrader's kernel: what is tested is that nothing else of nbgrader's notices that we are there. That
the executor itself gives what a kernel gives is the business of nbgrader/test_nbgrader_term.py.
None is left out: those about kernels (`test_missing_source_kernelspec`,
`test_incorrect_source_kernelspec`, `test_incorrect_submitted_kernelspec`, `test_infinite_loop`,
`test_autograde_timeout`) pass as well.
nbgrader itself skips two, as too long: `test_many_students`, `test_infinite_loop_with_output`.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import nbgrader_class as made

MODULE = "nbgrader.tests.apps.test_nbgrader_autograde"
_CONFIG = """
from grader.nbgrader import configure

c = get_config()
configure(c)
"""


def main() -> int:
    """Run them in a process whose nbgrader reads our configuration; returns pytest's status."""
    with tempfile.TemporaryDirectory(prefix="grade-nbgrader-") as folder:
        Path(folder, "nbgrader_config.py").write_text(_CONFIG, encoding="utf-8")
        environment = {**os.environ, **made.places(), "JUPYTER_CONFIG_PATH": folder, "HOME": folder}
        options = ["-q", "-c", os.devnull, "--rootdir", folder, "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", *options, "--pyargs", MODULE]
        done = subprocess.run([*command, *sys.argv[1:]], cwd=folder, env=environment, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
