"""The forms for A2A agents in a real browser, as wide as a phone: on a team's page, and where people take a seat."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.a2a.agents import agent_process
from tests.browser.test_access import faults, overflow
from tests.browser.visitor import NO_PLAYWRIGHT, PHONE, Visitor
from tests.conftest import free_ports
from tests.security.classroom import classroom

if TYPE_CHECKING:
    from playwright.async_api import Page

expect = pytest.importorskip("playwright.async_api", reason=NO_PLAYWRIGHT).expect
pytestmark = pytest.mark.asyncio(loop_scope="package")


async def send(page: "Page", card: str, name: str, button: str) -> None:
    await page.get_by_label("Address of its card").fill(card)
    await page.get_by_label("Name to show").fill(name)
    await page.get_by_role("button", name=button).click()


async def test_an_owner_seats_an_agent_on_a_phone(tmp_path: Path, visitor: Visitor) -> None:
    nobody = f"http://localhost:{free_ports(1)}"
    with agent_process() as agents:
        first, second = agents.open().url, agents.open().url
        async with classroom(tmp_path, {"registration": "open"}) as room:
            page = await visitor.look(f"{room.visitor.base}/join/{room.add_team('T01')}", viewport=PHONE)
            await send(page, nobody, "", "Register it")
            await expect(page.locator("#said")).to_contain_text("Not registered: no card came from")
            await send(page, first, "Ours", "Register it")
            await expect(page.locator("#said")).to_contain_text("Ours is registered as P01")
            await expect(page.get_by_role("button", name="Replace my agent by it")).to_be_visible()
            play = await visitor.look(f"{room.visitor.base}/play", viewport=PHONE)
            visitor.is_cut_off = True  # a browser complains about the 409
            await send(play, nobody, "", "Give it a seat")
            await expect(play.locator("#a2a-problem")).to_contain_text("No card came from")
            visitor.is_cut_off = False
            await send(play, second, "", "Give it a seat")
            await expect(play.locator("#a2a-said")).to_contain_text("Foreign Agent is registered as P02")
            await expect(play.locator("#a2a-problem")).to_be_empty()
            for one in (page, play):
                assert await overflow(one) <= 0
                assert await faults(one) == []
