"""Debian's headless Chromium, driven over the DevTools protocol: what a page shows, asks for and complains of."""

import base64
import contextlib
import itertools
import json
import shutil
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from websockets.sync.client import connect

from .process import Process, accepts_connections, wait_until
from .sanitizer import PATIENCE

# The first of them itself: what Debian has on the PATH is a script, which ends without ending the browser.
COMMANDS = ("/usr/lib/chromium/chromium-headless-shell", "chromium")


class PageError(Exception):
    """A script's own error."""


class Navigated(Exception):
    """The document that a script ran in has made way for another one."""


class Browser:
    """One browser with a profile of its own; pages are opened in it one after the other."""

    def __init__(self, directory: Path):
        command = next(filter(None, map(shutil.which, COMMANDS)), None) or pytest.fail("no Chromium: run deploy/test.sh")
        profile = directory / "profile"
        arguments = [command, "--headless", "--remote-debugging-port=0", f"--user-data-dir={profile}", "--disable-gpu"]
        # As root, and in containers, there is no sandbox to be had, and little shared memory.
        arguments += ["--no-sandbox", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking"]
        arguments += ["--disable-component-update", "--disable-default-apps", "--no-proxy-server", "about:blank"]
        self._process = Process(arguments, directory / "browser.log")
        port_file = profile / "DevToolsActivePort"
        self._process.wait_ready(lambda: port_file.exists() and port_file.read_text().count("\n"), "the browser", 60)
        self._port = int(port_file.read_text().splitlines()[0])
        self._address = f"http://127.0.0.1:{self._port}"

    def open(self, kind: type["Page"], url: str, width: int = 1440, height: int = 900) -> "Page":
        question = urllib.request.Request(f"{self._address}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(question, timeout=20 * PATIENCE) as answer:
            target = json.load(answer)
        page = kind(target["webSocketDebuggerUrl"])
        page.resize(width, height)
        page.prefer("light")
        page.go(url)
        return page

    def stop(self) -> None:
        self._process.stop()
        # The started command may have been a script that the browser outlives.
        wait_until(lambda: not accepts_connections(self._port), "the browser to end")


class Page:
    """One page: commands go out, and events are kept until someone asks for them."""

    def __init__(self, url: str):
        self._open = contextlib.ExitStack()
        # While nobody reads, pings would not be answered.
        connection = connect(url, max_size=None, open_timeout=20 * PATIENCE, compression=None, ping_interval=None)
        self._socket = self._open.enter_context(connection)
        self._ids = itertools.count(1)
        self.events: list[dict] = []
        # Answers requests in the network's place: gets a URL, returns a body, or None for the network's own.
        self._stand_in: Callable[[str], str | None] | None = None
        for domain in ("Page", "Runtime", "Log", "Network", "Security"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters) -> dict:
        """Carries out a command; its result."""
        number = next(self._ids)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        end = time.monotonic() + 30 * PATIENCE
        while True:
            message = json.loads(self._socket.recv(timeout=end - time.monotonic()))
            if message.get("id") == number:
                fault = message.get("error", {}).get("message", "")
                if any(sign in fault for sign in ("navigated", "context was destroyed", "Cannot find context")):
                    raise Navigated(fault)
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]
            if "method" in message:
                self._note(message)

    def _note(self, event: dict) -> None:
        self.events.append(event)
        if event["method"] != "Fetch.requestPaused":
            return
        request = event["params"]
        body = self._stand_in(request["request"]["url"]) if self._stand_in else None
        number, key = next(self._ids), {"requestId": request["requestId"]}
        if body is None:
            command = {"method": "Fetch.continueRequest", "params": key}
        else:
            text = base64.b64encode(body.encode()).decode()
            command = {"method": "Fetch.fulfillRequest", "params": {**key, "responseCode": 200, "body": text}}
        self._socket.send(json.dumps({"id": number, **command}))

    def answer_with(self, stand_in: Callable[[str], str | None]) -> None:
        """Requests are answered by `stand_in` from now on, where it has an answer."""
        self._stand_in = stand_in
        self.send("Fetch.enable", patterns=[{"urlPattern": "*"}])

    def resize(self, width: int, height: int) -> None:
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 700
        )

    def prefer(self, scheme: str) -> None:
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def go(self, url: str) -> None:
        self.send("Page.navigate", url=url)
        wait_until(lambda: self.run("document.readyState") == "complete", f"{url} to load", 30)

    def run(self, script: str):
        """The value of an expression in the page, waited for where it is a promise; in the next document where this one
        goes meanwhile."""
        try:
            result = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        except Navigated:
            return self.run(script)
        if "exceptionDetails" in result:
            raise PageError(json.dumps(result["exceptionDetails"])[:2000])
        return result["result"].get("value")

    def text(self, selector: str) -> str:
        """The text of the first element that the selector finds, as it is seen: hidden ones have none."""
        found = f"document.querySelector({json.dumps(selector)})"
        return self.run(f"{found}?.checkVisibility() ? {found}.innerText : ''")

    def rows(self, selector: str) -> list[list[str]]:
        """A table's rows, each a list of its cells' texts."""
        cells = "[...row.cells].map((cell) => cell.innerText)"
        return self.run(f"[...document.querySelectorAll({json.dumps(selector + ' tr')})].map((row) => {cells})")

    def press(self, selector: str) -> None:
        # A click may lead to another document.
        with contextlib.suppress(Navigated):
            self.send("Runtime.evaluate", expression=f"document.querySelector({json.dumps(selector)}).click()")

    def type_into(self, selector: str, text: str) -> None:
        """Types as a keyboard does, and ends with the enter key."""
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        self.send("Input.insertText", text=text)
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13)

    def key(self, name: str, shift: bool = False) -> None:
        """Presses a key for which there is no text, or Enter."""
        codes = {"Enter": 13, "Escape": 27, "Tab": 9}
        more = {"text": "\r"} if name == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.send(
                "Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=codes[name],
                modifiers=8 if shift else 0, **more)  # fmt: skip

    def screenshot(self, path: Path, whole: bool = False) -> None:
        image = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(image["data"]))

    def requested(self) -> list[str]:
        """The URL of each request that was made."""
        self.run("0")
        return [event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"]

    def complaints(self) -> list[str]:
        """Errors that no script caught, and errors and warnings in the console: violations of the page's policy too."""
        self.run("0")
        found = []
        for event in self.events:
            parameters = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(json.dumps(parameters["exceptionDetails"]))
            elif event["method"] == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(json.dumps(parameters["entry"]))
            elif event["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(json.dumps(parameters))
        return found

    def close(self) -> None:
        # The page is gone before it could say so.
        with contextlib.suppress(Exception):
            self.send("Page.close")
        self._open.close()
