"""One job in a process of its own, where no warm process can fork.

Standard input brings the job, standard output takes the answers, and what the submission prints
goes to standard error.
"""

import os
import sys
import tempfile
import traceback

import torch

from grader.worker import control, harness, importing, wire
from grader.worker.lockdown import Rules, lock_down


def main() -> None:
    """Lock down, say so in a first frame, and serve one job; a `Start` is the one argument."""
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    job, answers = _pipes()
    status = 1
    try:
        folder = tempfile.mkdtemp(prefix="grade-")
        rules = Rules.prepare("process", folder)
        try:
            request = control.parse(sys.argv[1].encode())
            assert isinstance(request, control.Start)  # noqa: S101 - nothing else is sent
            importing.load(request.framework)
            lock_down(request.limits, folder, (job, answers), rules)
        except BaseException as error:
            _tell(answers, control.Refused(str(error)[:400] or "?"))
            raise
        _tell(answers, control.Started(os.getpid(), folder))
        harness.serve(job, answers, request.limits.data_mib)
        status = 0
    except BaseException:  # noqa: BLE001 - the process ends here in any case
        traceback.print_exc()
    finally:
        os._exit(status)


def _pipes() -> tuple[int, int]:
    """Take the two pipes from standard input and output, so that nothing else reaches them."""
    job, answers = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    if sys.platform == "win32":
        import msvcrt

        for descriptor in (job, answers):
            msvcrt.setmode(descriptor, os.O_BINARY)
    return job, answers


def _tell(answers: int, message: control.Message) -> None:
    wire.write_all(answers, wire.pack(control.pack(message).decode()))


if __name__ == "__main__":
    main()
