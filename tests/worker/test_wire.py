"""A header that a worker sends is an object, or it is refused."""

import pytest

from grader.worker.wire import Violation, parse_header


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"3", b"\xff\xfe", b"[" * 10_000])
def test_parse_header_refuses_all_but_objects(text: bytes) -> None:
    with pytest.raises(Violation):
        parse_header(text)
