"""A headless Chromium that tests talk to over a pipe: real time, real input, whatever it logs or asks the network for.

References:
    Chrome DevTools Protocol, domains Target, Page, Runtime, Log, Network, Input and Emulation.
"""

from __future__ import annotations

import base64
import io
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

PATIENCE = 120.0
# Pages and drawings are made by the processor directly: only what asks for WebGL goes through the GPU that is played.
SOFTWARE = (
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-gpu-rasterization",
    "--disable-accelerated-2d-canvas",
)
# The browser reads from file 3 and writes to file 4.
LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Chromium:
    """One browser; close it."""

    def __init__(self, path: str, profile: Path) -> None:
        inward, self.write = os.pipe()
        self.read, outward = os.pipe()
        options = [
            "--headless", "--remote-debugging-pipe", *SOFTWARE, "--no-first-run", "--disable-extensions",
            "--disable-background-networking", f"--user-data-dir={profile}",
        ]  # fmt: skip
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.append("--no-sandbox")
        command = [sys.executable, "-c", LAUNCH, str(inward), str(outward), path, *options]
        self.process = subprocess.Popen(command, pass_fds=(inward, outward), stderr=subprocess.DEVNULL)
        os.close(inward)
        os.close(outward)
        self.buffer, self.count = b"", 0
        self.pages: dict[str, Page] = {}

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()
        os.close(self.read)
        os.close(self.write)

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events that come meanwhile go to their pages."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        os.write(self.write, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self.count:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            if answer.get("sessionId") in self.pages:
                self.pages[answer["sessionId"]].heard(answer["method"], answer["params"])

    def open(self, file: Path, **options: Any) -> Page:
        """Show a file in a new tab."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session, target)
        page.show(file, **options)
        return page

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            more = os.read(self.read, 1 << 20)
            assert more, "the browser has gone"
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)


class Page:
    """One tab, what it logged, and the addresses that it asked for."""

    def __init__(self, browser: Chromium, session: str, target: str) -> None:
        self.browser, self.session, self.target = browser, session, target
        self.log: list[Any] = []
        self.requests: list[str] = []

    def show(self, file: Path, size: tuple[int, int], media: dict[str, str], before: str, mobile: bool) -> None:
        """Load a file into a window of a size; `before` runs before its scripts."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        width, height = size
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        features = [{"name": name, "value": value} for name, value in media.items()]
        self.call("Emulation.setEmulatedMedia", features=features)
        if before:
            self.call("Page.addScriptToEvaluateOnNewDocument", source=before)
        self.call("Page.navigate", url=file.as_uri())
        end = time.monotonic() + PATIENCE
        while self.run("return document.readyState + location.href") != f"complete{file.as_uri()}":
            assert time.monotonic() < end, "the page does not load"

    def close(self) -> None:
        self.browser.call("Target.closeTarget", targetId=self.target)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **parameters)

    def run(self, script: str) -> Any:
        """What the body of an asynchronous function returns."""
        kept = f"globalThis.running = (async () => {{{script}}})()"  # a promise that nobody holds may be collected
        found = self.call("Runtime.evaluate", expression=kept, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """A real event of the mouse: mousePressed, mouseMoved, mouseReleased or mouseWheel."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def key(self, name: str) -> None:
        """A real key, down and up."""
        text = {"text": name} if len(name) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name)

    def screenshot(self) -> np.ndarray:
        """[height, width, 3] of what a reader sees."""
        data = base64.b64decode(self.call("Page.captureScreenshot")["data"])
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)

    def heard(self, method: str, parameters: dict[str, Any]) -> None:
        """Keep what a page should not do."""
        if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.log.append(parameters)
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
