"""A real browser, driven over its own protocol (CDP): opens pages, runs scripts in them, presses keys, takes pictures.

Only files of this machine are opened. Whatever the page complains of is kept: errors, refused policies, requests.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)
PATIENCE = 40  # seconds


def find() -> str | None:
    """The path of a browser: ``SITUS_BROWSER``, or what is installed."""
    return os.environ.get("SITUS_BROWSER") or next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """A running browser."""

    def __init__(self, path: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="situs-browser-", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [path, *FLAGS, f"--user-data-dir={self._folder.name}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        port = Path(self._folder.name) / "DevToolsActivePort"
        end = time.monotonic() + PATIENCE
        while not (port.exists() and port.read_text().strip()):
            if time.monotonic() > end or self._process.poll() is not None:
                self.close()
                raise RuntimeError(f"{path} did not start")
            time.sleep(0.05)
        self._at = f"http://127.0.0.1:{port.read_text().splitlines()[0]}"

    def open(self, file: Path, width: int = 1280, height: int = 900, dark: bool = False) -> Page:
        """Opens a file and waits until its script says that it is ready."""
        from websockets.sync.client import connect

        with urlopen(Request(f"{self._at}/json/new?about:blank", method="PUT"), timeout=PATIENCE) as answer:
            target = json.load(answer)
        page = Page(connect(target["webSocketDebuggerUrl"], max_size=None))
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.resize(width, height, dark)
        page.call("Page.navigate", url=file.resolve().as_uri())
        page.wait_for("document.body && document.body.dataset.ready")
        return page

    def close(self) -> None:
        """Ends it."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, 15)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, 9)
                self._process.wait(10)
        self._folder.cleanup()


class Page:
    """An open page."""

    def __init__(self, connection: AbstractContextManager[Any]) -> None:
        self._open = ExitStack()
        self._socket = self._open.enter_context(connection)
        self._last = 0
        self.complaints: list[str] = []  # errors, and what the page's policy refused
        self.requests: list[str] = []  # everything that was loaded

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Calls a method of the protocol."""
        self._last += 1
        self._socket.send(json.dumps({"id": self._last, "method": method, "params": params}))
        while True:
            answer = json.loads(self._socket.recv(timeout=PATIENCE))
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(str([each.get("value", each.get("description")) for each in params["args"]]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"].get("exception", {}).get("description"))
        return answer["result"].get("value")

    def wait_for(self, script: str) -> Any:
        """Waits until an expression is true, and returns its value."""
        end = time.monotonic() + PATIENCE
        while not (found := self.run(script)):
            if time.monotonic() > end:
                raise AssertionError(f"never true: {script}; the page says {self.complaints}")
            time.sleep(0.03)
        return found

    def resize(self, width: int, height: int, dark: bool = False) -> None:
        """Sets the size of the screen, and whether it is dark."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)

    def key(self, key: str, text: str | None = None) -> None:
        """Presses a key."""
        code = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        written = {"Enter": "\r"}.get(key, text or (key if len(key) == 1 else None))
        more = {"text": written} if written else {}
        number = code.get(key, 0)
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=number, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=number)

    def type(self, text: str) -> None:
        """Types a text into what has the focus."""
        self.call("Input.insertText", text=text)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """Moves the mouse, presses or releases its button, or turns its wheel."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        """Clicks."""
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def settle(self) -> None:
        """Waits until what was asked for is painted."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))))")

    def picture(self, path: Path, whole: bool = False) -> None:
        """Writes a picture of the page: what is seen, or all of it."""
        self.settle()
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    def close(self) -> None:
        """Closes the page."""
        self.call("Page.close")
        self._open.close()
