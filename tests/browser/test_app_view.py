"""The view of MCP Apps in a host of ours: a page with a sandboxed frame, which speaks the extension's messages.

Answers come from real agents over MCP, and what is clicked goes back to them.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.client import advertise
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID

from agent_league.gateway.server import make_gateway_server
from agent_league.mcp.server.app_view import SCENES_KEY, VIEW_URI
from tests.browser.stage import NAMES, League
from tests.browser.visitor import NO_PLAYWRIGHT, Visitor
from tests.gateway.host import hosting
from tests.harm import IMAGE, SCRIPT
from tests.players.chair import game_over, move_call

if TYPE_CHECKING:
    from playwright.async_api import FrameLocator, Page

expect = pytest.importorskip("playwright.async_api", reason=NO_PLAYWRIGHT).expect
pytestmark = pytest.mark.asyncio(loop_scope="package")

SHOWS_APPS = [advertise(EXTENSION_ID, {"mimeTypes": [APP_MIME_TYPE]})]
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
"""What the extension lets a view do that names no domains."""
HOST_PAGE = """<!doctype html><style>body { margin: 0 } iframe { width: 100%; height: 700px; border: 0 }</style>
<iframe sandbox="allow-scripts"></iframe>
<script>
const frame = document.querySelector("iframe"), messages = [];
const post = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
let given;
addEventListener("message", async ({ source, data }) => {
  if (source !== frame.contentWindow) return;
  messages.push(data);
  if (data.method === "ui/initialize")
    post({ id: data.id, result: { protocolVersion: data.params.protocolVersion,
      hostInfo: { name: "a test", version: "1" }, hostCapabilities: given.capabilities,
      hostContext: { theme: given.theme } } });
  else if (data.method === "ui/notifications/initialized") {
    post({ method: "ui/notifications/tool-input", params: { arguments: given.input } });
    post({ method: "ui/notifications/tool-result", params: given.result });
  } else if (data.method === "tools/call")
    post({ id: data.id, result: await callTool(data.params.name, data.params.arguments) });
  else if (data.id !== undefined) post({ id: data.id, result: {} });
});
function open(html, told) { given = told; frame.srcdoc = html; }
</script>"""
PLAYS: dict[str, Any] = {"serverTools": {}, "updateModelContext": {"text": {}}}


def to_json(result: types.CallToolResult) -> dict[str, Any]:
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


async def open_view(
    visitor: Visitor, client: Client, tool: str, arguments: dict[str, Any], **told: Any
) -> tuple["Page", "FrameLocator", dict[str, Any]]:
    """Calls a tool and shows its answer in the view that the tool names."""
    (listed,) = [one for one in (await client.list_tools()).tools if one.name == tool]
    assert listed.meta is not None
    assert listed.meta["ui"]["resourceUri"] == VIEW_URI
    (page_text,) = (await client.read_resource(VIEW_URI)).contents
    assert isinstance(page_text, types.TextResourceContents)
    assert page_text.mime_type == APP_MIME_TYPE
    result = to_json(await client.call_tool(tool, arguments))
    html = page_text.text.replace(
        "<title>", f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><title>', 1
    )
    page = await visitor.look("about:blank")

    async def call_tool(name: str, given: dict[str, Any]) -> dict[str, Any]:
        return to_json(await client.call_tool(name, given))

    await page.expose_function("callTool", call_tool)
    await page.set_content(HOST_PAGE)
    shown = {"input": arguments, "result": result, "capabilities": PLAYS, "theme": "light", **told}
    await page.evaluate(f"open({json.dumps(html)}, {json.dumps(shown)})")
    return page, page.frame_locator("iframe"), result


@asynccontextmanager
async def asking(league: League) -> AsyncIterator[Client]:
    async with Client(f"http://localhost:{league.port}/mcp", extensions=SHOWS_APPS) as client:
        yield client


async def test_the_table_is_shown_with_strangers_words_as_text_alone(visitor: Visitor, finished: League) -> None:
    from playwright.async_api import expect

    async with asking(finished) as client:
        page, view, _ = await open_view(visitor, client, "get_standings", {})
        await expect(view.locator("tbody tr")).to_have_count(len(NAMES) + 1)
        names = " ".join(await view.locator("td.name").all_inner_texts())
        assert SCRIPT in names
        assert IMAGE in names
        assert await view.locator("img, svg, td script").count() == 0
        methods = [message.get("method") for message in await page.evaluate("messages")]
    assert methods[:2] == ["ui/initialize", "ui/notifications/initialized"]
    assert "ui/notifications/size-changed" in methods


async def test_a_match_is_stepped_through_on_its_board(visitor: Visitor, boards: dict[str, League]) -> None:
    from playwright.async_api import expect

    async with asking(boards["tic_tac_toe"]) as client:
        _, view, result = await open_view(visitor, client, "get_match", {"match_id": "R1M1"}, theme="dark")
        steps = result["_meta"][SCENES_KEY]["steps"]
        await expect(view.locator(".cell")).to_have_count(9)
        played = len(steps) - 1
        await expect(view.locator(".cell.side0, .cell.side1")).to_have_count(played)
        await view.get_by_label("Back").click()
        await expect(view.locator(".cell.side0, .cell.side1")).to_have_count(played - 1)
        await expect(view.get_by_text(f"{played - 1} of {played}")).to_be_visible()


async def test_a_host_that_shows_no_apps_gets_the_text_alone(boards: dict[str, League]) -> None:
    async with Client(f"http://localhost:{boards['tic_tac_toe'].port}/mcp") as client:
        result = to_json(await client.call_tool("get_match", {"match_id": "R1M1"}))
    assert SCENES_KEY not in result.get("_meta", {})
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


async def test_a_click_on_the_board_is_a_move_and_the_view_goes_on(visitor: Visitor, home: Path) -> None:
    from playwright.async_api import expect

    board = {"board": "X...O....", "turn": 0, "winner": None}
    call = {**move_call([1, 2, 3, 5, 6, 7, 8], view=board), "game_type": "tic_tac_toe"}
    async with (
        hosting(home) as host,
        Client(make_gateway_server(host.seat), extensions=SHOWS_APPS) as client,
    ):
        handle = (await host.call("join_league"))["handle"]
        question = await host.asked("make_move", call)
        arguments = {"handle": handle, "after": 0}
        page, view, _ = await open_view(visitor, client, "wait_for_turn", arguments)
        await expect(view.get_by_role("heading")).to_have_text("Your turn")
        await expect(view.locator(".time")).to_contain_text(" s")
        await expect(view.locator(".moves button")).to_have_count(7)
        await view.get_by_label("play 2", exact=True).click()
        assert (await question)["move_data"] == 2
        await host.told("notify_match_result", game_over(game_type="tic_tac_toe"))
        await expect(view.get_by_text("A match is over")).to_be_visible()
        await expect(view.get_by_text("You have played 2 in T1.")).to_be_visible()
        sent = await page.evaluate("messages")
    (told,) = [message["params"] for message in sent if message.get("method") == "ui/update-model-context"]
    assert "T1" in told["content"][0]["text"]


async def test_without_the_right_to_call_tools_moves_are_shown_but_not_clickable(visitor: Visitor, home: Path) -> None:
    from playwright.async_api import expect

    hostile = move_call([IMAGE, SCRIPT])
    async with (
        hosting(home) as host,
        Client(make_gateway_server(host.seat), extensions=SHOWS_APPS) as client,
    ):
        handle = (await host.call("join_league"))["handle"]
        question = await host.asked("make_move", hostile)
        _, view, _ = await open_view(visitor, client, "wait_for_turn", {"handle": handle, "after": 0}, capabilities={})
        await expect(view.locator(".moves button")).to_have_text([IMAGE, SCRIPT])
        assert await view.locator(".moves button:enabled, main img, main script").count() == 0
        await expect(view.get_by_text("Tell your model which move to play")).to_be_visible()
        await host.call("make_move", handle=handle, turn_id="T1", move="#1")
        await question
