"""The students' notebook in a real JupyterLab in a real browser, over loopback."""

import base64
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import websocket
from support import SUBMISSIONS

from grader.student.start import start_course

_PATIENCE = 300  # seconds; a net for hangs
_READY = (  # a notebook's kernel has started and waits
    "(panel => panel && /Python 3/.test(panel.querySelector('.jp-Toolbar').innerText)"
    " && panel.querySelector('.jp-Notebook-ExecutionIndicator[data-status=idle]') !== null)"
    "(document.querySelector('.jp-NotebookPanel'))"
)
_SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},  # every output is in the page
    "apputils-extension/themes": {"theme": "JupyterLab Dark"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}


class _Page:
    """A page of a browser, through its remote debugging."""

    def __init__(self, port: str) -> None:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=_PATIENCE) as answer:
            pages = [p for p in json.load(answer) if p["type"] == "page"]
        self.socket = websocket.create_connection(
            pages[0]["webSocketDebuggerUrl"], timeout=_PATIENCE, suppress_origin=True
        )
        self.numbers = count(1)

    def ask(self, method: str, **parameters: object) -> dict[str, Any]:
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while (answer := json.loads(self.socket.recv())).get("id") != number:
            pass
        return dict(answer["result"])

    def value(self, script: str) -> Any:
        return self.ask("Runtime.evaluate", expression=script, returnByValue=True)["result"].get(
            "value"
        )

    def wait_for(self, script: str) -> Any:
        end = time.monotonic() + _PATIENCE
        while not (found := self.value(script)):
            assert time.monotonic() < end, (script, self.value("document.body.innerText"))
            time.sleep(0.3)
        return found


@contextmanager
def _lab(course: Path, home: Path) -> Iterator[str]:
    """Serve a folder; gives the address of its lab, token included."""
    for name, settings in _SETTINGS.items():
        path = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings), encoding="utf-8")
    kinds = ("CONFIG", "DATA", "RUNTIME")
    folders = {f"JUPYTER_{kind}_DIR": str(home / kind.lower()) for kind in kinds}
    folders["JUPYTERLAB_SETTINGS_DIR"] = str(home / "settings")
    root = ["--allow-root"] if hasattr(os, "getuid") and os.getuid() == 0 else []
    server = subprocess.Popen(
        [
            sys.executable, "-m", "jupyterlab", *root, "--no-browser", "--ip=127.0.0.1",
            "--port=0", "--IdentityProvider.token=open", f"--ServerApp.root_dir={course}",
            "--LabApp.expose_app_in_browser=True",
        ],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **folders},
    )  # fmt: skip
    try:
        assert server.stderr is not None
        lines = iter(server.stderr)
        found = (re.search(r"(http://127\.0\.0\.1:\d+/lab)\?", line) for line in lines)
        address = next(match[1] for match in found if match)
        threading.Thread(target=lambda: [None for _ in lines], daemon=True).start()
        yield address
    finally:
        server.terminate()
        server.wait(timeout=_PATIENCE)
        assert server.stderr is not None
        server.stderr.close()


@contextmanager
def _browser(program: str, home: Path) -> Iterator[_Page]:
    profile = home / "profile"
    running = subprocess.Popen(
        [
            program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
            f"--user-data-dir={profile}", "--window-size=1200,1400", "about:blank",
        ],
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        told = profile / "DevToolsActivePort"
        end = time.monotonic() + _PATIENCE
        while not told.is_file() or len(told.read_text().splitlines()) < 2:
            assert time.monotonic() < end
            time.sleep(0.05)
        page = _Page(told.read_text().split()[0])
        try:
            yield page
        finally:
            page.socket.close()
    finally:
        running.terminate()
        running.wait(timeout=_PATIENCE)


def _answer(notebook: Path, code: str) -> None:
    """Write a student's code into the first gap of a notebook, and empty the others."""
    document = json.loads(notebook.read_text("utf-8"))
    gaps = [c for c in document["cells"] if "raise NotImplementedError" in "".join(c["source"])]
    for cell, text in zip(gaps, [code, *["pass"] * len(gaps)], strict=False):
        cell["source"] = text.splitlines(keepends=True)
    notebook.write_text(json.dumps(document), encoding="utf-8")


@pytest.mark.long
def test_notebook_of_a_bundle_shows_its_report_in_jupyterlab(
    browser: str, pristine: Path, tmp_path: Path
) -> None:
    course = tmp_path / "course"
    start_course(course, bundle=pristine, notebooks=True)
    wrong = SUBMISSIONS / "softmax-over-queries" / "exercise1_attention.py"
    _answer(course / "exercises" / "exercise1_attention.ipynb", wrong.read_text("utf-8"))
    with _browser(browser, tmp_path) as page, _lab(course, tmp_path / "home") as lab:
        page.ask("Page.enable")
        page.ask("Page.navigate", url=f"{lab}/tree/exercises/exercise1_attention.ipynb?token=open")
        page.wait_for(_READY)
        page.value("jupyterapp.commands.execute('notebook:run-all-cells')")
        shown = page.wait_for("(document.querySelector('.grade') || {}).innerText")
        colour = page.value(
            "getComputedStyle(document.querySelector('.grade')).getPropertyValue('--paper').trim()"
        )
        pictures = page.value("document.querySelectorAll('.grade svg.map').length")
        page.value("document.querySelector('.grade').scrollIntoView()")
        picture = page.ask("Page.captureScreenshot", format="png")["data"]
    (tmp_path / "lab.png").write_bytes(base64.b64decode(picture))  # to be looked at
    assert "the softmax runs over the queries" in shown
    assert "first step known to be wrong: weights" in shown
    assert pictures > 4
    assert colour == "#16181b"  # JupyterLab's dark theme reaches the report
