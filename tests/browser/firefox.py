"""Firefox, driven by WebDriver BiDi over a WebSocket: what tests of the pages need of it, and no more."""

import asyncio
import itertools
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import aiohttp
import pytest

from tests.conftest import BOUND, free_ports

BROWSERS = ("firefox-esr", "firefox")
Theme = Literal["light", "dark"]
THEMES: dict[Theme, int] = {"dark": 0, "light": 1}
"""Values of Firefox's setting for the theme that pages are asked for."""
SETTINGS = {
    "ui.prefersReducedMotion": 1,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.update.disabledForTesting": True,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "browser.safebrowsing.downloads.remote.enabled": False,
    "services.settings.server": "data:,none",
}
"""Nothing but what the pages themselves ask for goes over the network."""


class Firefox:
    """One window of a browser."""

    def __init__(self, line: aiohttp.ClientWebSocketResponse) -> None:
        self._line = line
        self._numbers = itertools.count(1)
        self._context = ""
        self.faults: list[str] = []
        """Errors and warnings that pages have put into the console."""

    async def open(self) -> None:
        await self._ask("session.new", capabilities={})
        await self._ask("session.subscribe", events=["log.entryAdded"])
        self._context = (await self._ask("browsingContext.create", type="tab"))["context"]

    async def look(self, address: str, width: int, height: int) -> None:
        """Load a page in a window of this size."""
        size = {"width": width, "height": height}
        await self._ask("browsingContext.setViewport", context=self._context, viewport=size)
        await self._ask("browsingContext.navigate", context=self._context, url=address, wait="complete")

    async def run(self, script: str) -> Any:
        """Return what an expression, or the promise that it makes, comes to: text, for whatever JSON can hold."""
        told = await self._ask(
            "script.evaluate",
            expression=f"Promise.resolve({script}).then(JSON.stringify)",
            target={"context": self._context},
            awaitPromise=True,
        )
        assert told["type"] == "success", told
        return json.loads(told["result"].get("value", "null"))

    async def load_script(self, text: str) -> None:
        target = {"context": self._context}
        told = await self._ask("script.evaluate", expression=f"{text}\n;0", target=target, awaitPromise=False)
        assert told["type"] == "success", told

    async def press(self, *keys: str) -> None:
        """Press keys one after the other, by the characters that WebDriver has for them."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        board = {"type": "key", "id": "keyboard", "actions": actions}
        await self._ask("input.performActions", context=self._context, actions=[board])

    async def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        await self._line.send_json({"id": number, "method": method, "params": params})
        async with asyncio.timeout(BOUND):
            while True:
                told = await self._line.receive_json()
                if told.get("method") == "log.entryAdded" and told["params"]["level"] in ("error", "warn"):
                    self.faults.append(str(told["params"]["text"]))
                if told.get("id") == number:
                    assert told["type"] == "success", f"{method}: {told}"
                    answer: dict[str, Any] = told["result"]
                    return answer


@asynccontextmanager
async def open_firefox(folder: Path, theme: Theme) -> AsyncIterator[Firefox]:
    """Firefox with an empty profile in this folder; the test is skipped where it can't be had."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("the pages are tested in Firefox, too: apt-get install firefox-esr")
    _make_profile(folder, theme)
    port = free_ports(1)
    process = await asyncio.create_subprocess_exec(
        found,
        *("--headless", "--no-remote", "--profile", str(folder), f"--remote-debugging-port={port}"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(BOUND):
            await _wait_until_listening(process)
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(f"ws://127.0.0.1:{port}/session", max_msg_size=0) as line,
        ):
            browser = Firefox(line)
            await browser.open()
            yield browser
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def _wait_until_listening(process: asyncio.subprocess.Process) -> None:
    assert process.stderr is not None
    async for text in process.stderr:
        if b"WebDriver BiDi listening" in text:
            return
    raise AssertionError("Firefox ended before it listened")


def _make_profile(folder: Path, theme: Theme) -> None:
    folder.mkdir()
    settings = {**SETTINGS, "layout.css.prefers-color-scheme.content-override": THEMES[theme]}
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in settings.items()]
    (folder / "user.js").write_text("\n".join(lines))
