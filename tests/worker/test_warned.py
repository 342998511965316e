"""A warning names the learner's line, whichever library it comes from."""

import warnings

import pytest

from grader.worker.warned import tell_warnings

TEXT = "def call(library):\n    library()\n"


def test_a_warning_names_the_innermost_line_of_the_submission(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # put back afterwards

    def library() -> None:
        warnings.warn("old (Triggered internally at /somewhere/File.cpp:9.)", stacklevel=2)

    own: dict[str, object] = {}
    exec(compile(TEXT, "exercise1_own.py", "exec"), own)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        tell_warnings(frozenset({"exercise1_own.py"}))
        own["call"](library)  # type: ignore[operator]
        library()
    first, second = capsys.readouterr().err.splitlines()
    assert first == "exercise1_own.py:2: UserWarning: old"
    assert second == "UserWarning: old"
