"""One job in a process of its own, where no warm process can fork.

Standard input brings the job, standard output takes the answers, and what the submission prints
goes to standard error.
"""

import json
import os
import sys
import tempfile
import traceback

import torch

from grader.worker import harness, wire
from grader.worker.lockdown import Rules, lock_down


def main() -> None:
    """Lock down, say so in a first frame, and serve one job; limits are the one argument."""
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    job, answers = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    if sys.platform == "win32":
        import msvcrt

        for descriptor in (job, answers):
            msvcrt.setmode(descriptor, os.O_BINARY)
    status = 1
    try:
        folder = tempfile.mkdtemp(prefix="grade-")
        rules = Rules.prepare("process", folder)
        try:
            lock_down(json.loads(sys.argv[1]), folder, (job, answers), rules)
        except BaseException as error:
            wire.write_all(answers, wire.pack({"refused": str(error)[:400] or "?"}))
            raise
        wire.write_all(answers, wire.pack({"locked": folder}))
        harness.serve(job, answers)
        status = 0
    except BaseException:  # noqa: BLE001 - the process ends here in any case
        traceback.print_exc()
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()
