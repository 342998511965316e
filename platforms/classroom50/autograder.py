"""Grades a submission on Classroom 50, on the public cases.

It goes to CLASSROOM/autograders/ASSIGNMENT/autograder.py of the classroom50 repository, with the
wheel that `make wheel` built beside it. Whatever lies there is published: never put hidden cases
or solutions there. The runner calls it in the student's checkout and reads result.json.

Nothing runs with the checkout as its working folder: Python would import what a student put there.
"""

import datetime
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

TORCH = ""  # what PyTorch's page "Get started" shows for CPUs behind `pip3 install torch`
UNITS = 100  # of a point: the contract takes whole numbers alone
HERE = Path(__file__).resolve().parent


def main() -> int:
    """Write result.json and release-body.md; another status than 0 is a fault, not a mistake."""
    checkout = Path.cwd()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        results = graded(checkout, Path(scratch))["results"]
        os.chdir(HERE)
    put(checkout / "result.json", json.dumps(result_of(results), indent=1) + "\n")
    put(checkout / "release-body.md", body_of(results))
    return 0


def put(path: Path, text: str) -> None:
    """Write a file of the checkout in the place of whatever is there, and never through a link."""
    number, made = tempfile.mkstemp(dir=path.parent)
    with open(number, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(made, 0o644)
    os.replace(made, path)


def graded(checkout: Path, scratch: Path) -> dict:
    """Return what `grade check --json` says of a checkout."""
    python = installed(scratch / "venv")
    grade = [python, "-I", "-c", "from grader.cli.main import main; main()"]
    course, exercises = scratch / "course", checkout / "exercises"
    subprocess.run([*grade, "start", course], check=True, stdout=subprocess.DEVNULL)
    work = exercises if exercises.is_dir() else checkout
    asked = [*grade, "check", "--all", "--json", "--course", course, "--submission", work]
    done = subprocess.run(asked, stdout=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"grade check ended with {done.returncode}")
    return json.loads(done.stdout)


def installed(place: Path) -> Path:
    """Return the Python of an environment with torch and grader."""
    if given := os.environ.get("GRADER_PYTHON"):  # of a runner that has both already
        return Path(given)
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    pip = [python, "-I", "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "torch", *TORCH.split()], check=True)
    subprocess.run([*pip, *HERE.glob("grader-*.whl")], check=True)
    return python


def result_of(results: list) -> dict:
    """Return the document that the runner reads, classroom50/result/v1."""
    tests = [
        {
            "test-name": one["exercise"],
            "passed": one["status"] == "passed",
            "score": round(one["score"] * UNITS),
            "max-score": round(one["max_score"] * UNITS),
        }
        for one in results
    ]
    commit = os.environ["COMMIT_URL"]
    now = datetime.datetime.now(datetime.UTC)
    return {
        "schema": "classroom50/result/v1",
        "classroom": os.environ["CLASSROOM"],
        "assignment": os.environ["ASSIGNMENT"],
        "submission": os.environ["SUBMISSION_TAG"],
        "commit": commit,
        "release": os.environ["RELEASE_URL"],
        "review": os.environ.get("REVIEW_URL") or commit,
        "datetime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "score": sum(test["score"] for test in tests),
        "max-score": sum(test["max-score"] for test in tests),
        "tests": tests,
    }


def body_of(results: list) -> str:
    """Return the release's text: all of it is code, so no word of a submission's is markup."""
    lines = []
    for one in results:
        lines.append(f"{one['exercise']}: {one['score']:g} of {one['max_score']:g} points")
        told = [diagnosis["evidence"] for diagnosis in one["diagnoses"]]
        failed = [c["message"] for c in one["checks"] if c["status"] != "passed"]
        lines += [f"  {text}" for text in dict.fromkeys([*told, *failed]) if text]
    return "".join(f"    {' '.join(line.splitlines())}\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
