"""A driver of headless Chromium over --remote-debugging-pipe: a page opened as a person would see it, and asked.

Standard library only. The browser reads commands on descriptor 3 and writes answers and events on 4, each a JSON text
ended by a NUL.
"""
from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import struct
import tempfile
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

FLAGS = ("--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
         "--disable-default-apps", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio",
         "--host-resolver-rules=MAP * ~NOTFOUND", "about:blank")
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
START_S, ANSWER_S = 600.0, 600.0
_AT_LEAST = 10
"""Pipes are moved to descriptors from here on, away from the 3 and 4 that they become in the browser."""
_OVERFLOWING = """(() => {
  const most = document.documentElement.clientWidth, found = [];
  for (const element of document.body.querySelectorAll('*')) {
    if (element.closest('.scroll, pre, .skip') || !element.getClientRects().length) continue;
    const right = element.getBoundingClientRect().right;
    if (right > most + 0.5) found.push(`${element.outerHTML.slice(0, 100)} ends at ${right} of ${most}`);
  }
  if (document.documentElement.scrollWidth > most)
    found.push(`the page scrolls to ${document.documentElement.scrollWidth} of ${most}`);
  return found.slice(0, 10);
})()"""
_BROKEN_ANCHORS = """[...document.querySelectorAll('a')].map(link => link.getAttribute('href'))
  .filter(place => !place || place[0] !== '#' || document.getElementById(place.slice(1)) === null)"""


class BrowserFailed(Exception):
    """The browser did not start, went away, did not answer in time, or refused a command."""


def find_browser() -> str | None:
    """The path of a Chromium, if there is one."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


def missing() -> str | None:
    """Why the browser cannot be driven here; None where it can."""
    if not hasattr(os, "posix_spawn"):
        return "this platform hands no descriptors 3 and 4 to a browser"
    return None if find_browser() else "no Chromium on this machine (Debian package `chromium`)"


MISSING = missing()
"""Why tests that need the browser are skipped; None where they are not."""


class Chromium:
    """One browser, started at once and killed by close(). A context manager."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        self._errors = Path(self._folder.name) / "stderr.txt"
        self._events: list[dict[str, Any]] = []
        self._buffer = b""
        self._number = 0
        self._pid, self._write_fd, self._read_fd = self._start()
        try:
            self._call("Browser.getVersion", {}, seconds=START_S)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def open(self, path: Path, width: int, height: int = 800, *, dark: bool = False) -> OpenedPage:
        """A local file in a tab of its own, loaded, at a size in pixels and in a colour scheme."""
        target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = OpenedPage(self, target, session, path.resolve().as_uri())
        page.load(width, height, dark)
        return page

    def close(self) -> None:
        """End the browser and all its processes, whatever state they are in."""
        for descriptor in (self._write_fd, self._read_fd):
            os.close(descriptor)
        deadline = time.monotonic() + 2
        while not os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) and time.monotonic() < deadline:
            time.sleep(0.02)
        # the helpers of the browser live in its group and may outlive it; until it is waited for, the number is its own
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        self._folder.cleanup()

    def _start(self) -> tuple[int, int, int]:
        program = find_browser()
        if program is None:
            raise BrowserFailed(MISSING)
        (command_end, write_fd), (read_fd, answer_end) = _high_pipe(), _high_pipe()
        arguments = [program, f"--user-data-dir={self._folder.name}/profile", *FLAGS]
        actions = [(os.POSIX_SPAWN_DUP2, command_end, 3), (os.POSIX_SPAWN_DUP2, answer_end, 4),
                   (os.POSIX_SPAWN_OPEN, 2, str(self._errors), os.O_WRONLY | os.O_CREAT, 0o600)]
        try:
            pid = os.posix_spawn(program, arguments, os.environ, file_actions=actions, setpgroup=0)
        finally:
            os.close(command_end)
            os.close(answer_end)
        return pid, write_fd, read_fd

    def _call(self, method: str, parameters: Mapping[str, Any], session: str | None = None,
              seconds: float = ANSWER_S) -> dict[str, Any]:
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        if session:
            command["sessionId"] = session
        data = json.dumps(command).encode() + b"\0"
        try:
            while data:
                data = data[os.write(self._write_fd, data):]
        except BrokenPipeError:
            raise BrowserFailed(f"the browser went away: {self._last_words()}") from None
        deadline = time.monotonic() + seconds
        while True:
            message = self._receive(deadline, method)
            if message.get("id") == self._number:
                if "error" in message:
                    raise BrowserFailed(f"{method}: {message['error'].get('message')}")
                result: dict[str, Any] = message["result"]
                return result
            self._events.append(message)

    def _receive(self, deadline: float, what: str) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read_fd], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise BrowserFailed(f"no answer to {what} in time: {self._last_words()}")
            data = os.read(self._read_fd, 1 << 20)
            if not data:
                raise BrowserFailed(f"the browser went away: {self._last_words()}")
            self._buffer += data
        text, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        return message

    def _last_words(self) -> str:
        try:
            return self._errors.read_text(encoding="utf-8", errors="replace")[-500:].strip() or "it said nothing"
        except OSError as error:
            return f"what it said cannot be read ({error.strerror})"


class OpenedPage:
    """A page in a tab: what happened while it loaded, and what it answers when asked."""

    def __init__(self, browser: Chromium, target: str, session: str, url: str) -> None:
        self._browser, self._target, self._session, self.url = browser, target, session, url

    def load(self, width: int, height: int, dark: bool) -> None:
        """Show the page at a size; returns when its load event came."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        self.resize(width, height)
        self.look("screen", dark)
        answer = self._call("Page.navigate", url=self.url)
        if "errorText" in answer:
            raise BrowserFailed(f"{self.url}: {answer['errorText']}")
        deadline = time.monotonic() + ANSWER_S
        while not self._named("Page.loadEventFired"):
            self._browser._events.append(self._browser._receive(deadline, "the load of the page"))

    def resize(self, width: int, height: int = 800) -> None:
        """Give the page another size, in pixels."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def look(self, media: str, dark: bool = False) -> None:
        """Show the page on a `screen` or in `print`, in light or dark colours."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def pixel(self, x: float, y: float) -> tuple[int, int, int]:
        """Red, green and blue of one pixel of the page."""
        clip = {"x": x, "y": y, "width": 1, "height": 1, "scale": 1}
        png = base64.b64decode(self._call("Page.captureScreenshot", format="png", clip=clip,
                                          captureBeyondViewport=True)["data"])
        data, place = b"", 8
        while place < len(png):
            length, kind = struct.unpack(">I4s", png[place:place + 8])
            data += png[place + 8:place + 8 + length] if kind == b"IDAT" else b""
            place += length + 12
        red, green, blue = zlib.decompress(data)[1:4]
        return red, green, blue

    def problems(self) -> list[str]:
        """Console messages, exceptions and entries of the browser's log (refusals by the policy are among them)."""
        self.evaluate("0")
        found = [f"console: {event['args']}" for event in self._named("Runtime.consoleAPICalled")]
        found += [f"exception: {event['exceptionDetails']}" for event in self._named("Runtime.exceptionThrown")]
        return found + [f"log: {event['entry']['text']}" for event in self._named("Log.entryAdded")]

    def requests(self) -> list[str]:
        """What the page asked for, itself and data: URLs apart."""
        self.evaluate("0")
        asked = [event["request"]["url"] for event in self._named("Network.requestWillBeSent")]
        return [url for url in asked if url != self.url and not url.startswith("data:")]

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, as JSON."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserFailed(f"{expression[:80]}: {answer['exceptionDetails'].get('text')}")
        return answer["result"].get("value")

    def overflowing(self) -> list[str]:
        """What is wider than the page, in words; boxes that scroll by themselves are not looked into."""
        found: list[str] = self.evaluate(_OVERFLOWING)
        return found

    def broken_anchors(self) -> list[str]:
        """Links that do not lead to a place on the page."""
        found: list[str] = self.evaluate(_BROKEN_ANCHORS)
        return found

    def accessible(self) -> list[tuple[str, str]]:
        """Role and name of everything that a screen reader is told of."""
        self._call("Accessibility.enable")
        nodes = self._call("Accessibility.getFullAXTree")["nodes"]
        return [(node.get("role", {}).get("value", ""), node.get("name", {}).get("value", ""))
                for node in nodes if not node.get("ignored")]

    def press(self, key: str) -> None:
        """Press and release a key, such as Tab or Enter."""
        codes = {"Tab": 9, "Enter": 13}
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self._call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                       windowsVirtualKeyCode=codes[key], **text)

    def close(self) -> None:
        """Close the tab."""
        self._browser._call("Target.closeTarget", {"targetId": self._target})

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser._call(method, parameters, self._session)

    def _named(self, method: str) -> list[dict[str, Any]]:
        return [event["params"] for event in self._browser._events
                if event.get("sessionId") == self._session and event.get("method") == method]


def _high_pipe() -> tuple[int, int]:
    """A pipe on descriptors far above 3 and 4, closed in children unless handed down."""
    import fcntl

    ends = os.pipe()
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _AT_LEAST) for end in ends)
    for end in ends:
        os.close(end)
    return moved[0], moved[1]
