"""`mcp.Client` in both revisions on manager, referee and player, over real HTTP, beside bare calls."""

import asyncio
import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.client.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError

from agent_league.agent.answer_pages import PAGED_FIELDS, mark_untrusted
from agent_league.mcp.server.app_view import VIEW_URI
from agent_league.mcp.server.prompts import PROMPTS
from agent_league.model.agents import Role
from agent_league.protocol.methods import METHODS
from agent_league.protocol.resources import RESOURCES, Resource
from tests.cli.command import running
from tests.conftest import BOUND, PlanMaker, free_ports
from tests.http.wire import until
from tests.mcp.clients import MODES, connected
from tests.mcp.league import League, league

ROOT = Path(__file__).parents[2]
STANDINGS = "league://standings"
READABLE = {
    Role.LEAGUE_MANAGER: [
        STANDINGS,
        "league://schedule",
        "league://rounds/1",
        "league://matches/R1M1",
        "league://players/P01",
    ],
    Role.REFEREE: ["league://matches/R1M1"],
    Role.PLAYER: ["league://players/P01"],
}
EVERYWHERE = ["league://rules/even_odd", "league://protocol"]
REFUSED = {
    Role.LEAGUE_MANAGER: ("league_query", {"query_type": "GET_STANDINGS", "league_id": "league_2025_even_odd"}, "E011"),
    Role.REFEREE: ("get_match_state", {"match_id": "R9M9"}, "E007"),
    Role.PLAYER: ("get_player_state", {"player_id": "P99"}, "E005"),
}
ASKED = {
    Role.LEAGUE_MANAGER: ("get_standings", {}),
    Role.REFEREE: ("get_match_state", {"match_id": "R1M1"}),
    Role.PLAYER: ("get_player_state", {}),
}

GIVEN = {"match_id": "R1M1", "game_type": "even_odd", "player_id": "P01"}
"""What a prompt may ask for."""

every_mode = pytest.mark.parametrize("mode", MODES)
subscribes_as_before = pytest.mark.filterwarnings("ignore:resources/.*subscribe is removed")
"""The older revision has no other way."""


async def bare(there: League, role: Role, method: str, **params: Any) -> Any:
    frame = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
    _, body = await there.carrier.exchange(there.urls[role], json.dumps(frame).encode(), BOUND)
    return json.loads(body)["result"]


def is_paged(resource: Resource) -> bool:
    """Whether its pages are a template of their own."""
    return resource.method in PAGED_FIELDS and not resource.is_template


def only_text(result: types.CallToolResult) -> Any:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return json.loads(content.text)


@every_mode
async def test_every_role_lists_its_tools_its_resources_and_its_prompts(plan: PlanMaker, mode: str) -> None:
    async with league(plan) as there:
        for role, url in there.urls.items():
            async with connected(url, mode) as client:
                tools = (await client.list_tools()).tools
                resources = (await client.list_resources()).resources
                templates = (await client.list_resource_templates()).resource_templates
                prompts = (await client.list_prompts()).prompts
            assert {tool.name for tool in tools} == {name for name, row in METHODS.items() if role in row.served_by}
            views = {VIEW_URI} if role is Role.LEAGUE_MANAGER else set()
            assert {str(found.uri) for found in resources} | {found.uri_template for found in templates} == {
                *(resource.uri for resource in RESOURCES[role]),
                *(f"{resource.uri}{{?page}}" for resource in RESOURCES[role] if is_paged(resource)),
                *views,
            }
            assert {prompt.name for prompt in prompts} == {prompt.name for prompt in PROMPTS[role]}
            for tool in tools:
                assert tool.description, tool.name
                Draft202012Validator.check_schema(tool.input_schema)
                Draft202012Validator.check_schema(tool.output_schema or {})


@every_mode
async def test_every_resource_is_read_as_its_method_answers(plan: PlanMaker, mode: str) -> None:
    async with league(plan) as there:
        await there.played()
        for role, url in there.urls.items():
            async with connected(url, mode) as client:
                for uri in (*READABLE[role], *EVERYWHERE):
                    (content,) = (await client.read_resource(uri)).contents
                    assert isinstance(content, types.TextResourceContents), uri
                    assert (content.uri, content.mime_type) == (uri, "application/json")
                    assert json.loads(content.text), uri
                with pytest.raises(MCPError, match="league://nowhere"):
                    await client.read_resource("league://nowhere")
        async with connected(there.urls[Role.LEAGUE_MANAGER], mode) as client:
            (standings,) = (await client.read_resource(STANDINGS)).contents
            (match,) = (await client.read_resource("league://matches/R1M1")).contents
        assert isinstance(standings, types.TextResourceContents)
        assert isinstance(match, types.TextResourceContents)
        assert json.loads(standings.text) == mark_untrusted(await bare(there, Role.LEAGUE_MANAGER, "get_standings"))
        assert json.loads(match.text)["transcript"], "a finished match comes with what was said"


@every_mode
async def test_every_prompt_is_written_from_what_its_role_knows(plan: PlanMaker, mode: str) -> None:
    async with league(plan) as there:
        await there.played()
        for role, url in there.urls.items():
            async with connected(url, mode) as client:
                for prompt in (await client.list_prompts()).prompts:
                    arguments = {part.name: GIVEN[part.name] for part in prompt.arguments or [] if part.required}
                    (message,) = (await client.get_prompt(prompt.name, arguments)).messages
                    assert isinstance(message.content, types.TextContent)
                    assert all(value in message.content.text for value in arguments.values()), (role, prompt.name)
                with pytest.raises(MCPError, match="no prompt 'sing'"):
                    await client.get_prompt("sing")


@every_mode
async def test_a_call_is_answered_as_a_bare_call_is_in_the_form_that_its_schema_promises(
    plan: PlanMaker, mode: str
) -> None:
    async with league(plan) as there:
        await there.played()
        for role, url in there.urls.items():
            method, arguments = ASKED[role]
            before = await bare(there, role, method, **arguments)
            async with connected(url, mode) as client:
                tools = {tool.name: tool for tool in (await client.list_tools()).tools}
                result = await client.call_tool(method, arguments)  # the client checks it against the output schema
                between = await bare(there, role, method, **arguments)
            assert result.is_error is not True
            assert result.structured_content == only_text(result) == mark_untrusted(before) == mark_untrusted(between)
            Draft202012Validator(tools[method].output_schema or {}).validate(result.structured_content)
            assert await bare(there, role, method, **arguments) == before


@every_mode
async def test_a_refused_call_is_an_error_that_holds_the_league_error(plan: PlanMaker, mode: str) -> None:
    async with league(plan) as there:
        for role, url in there.urls.items():
            method, arguments, code = REFUSED[role]
            async with connected(url, mode) as client:
                result = await client.call_tool(method, arguments)
                assert result.is_error is True
                assert result.structured_content == only_text(result)
                assert result.structured_content["message_type"] == "LEAGUE_ERROR"
                assert result.structured_content["error_code"] == code
                with pytest.raises(MCPError, match="no tool 'shuffle'"):
                    await client.call_tool("shuffle", {})


@every_mode
async def test_a_token_works_in_the_envelope_and_as_a_bearer_header(plan: PlanMaker, mode: str) -> None:
    async with league(plan) as there:
        guest = await there.join()
        url, query = there.urls[Role.LEAGUE_MANAGER], {"query_type": "GET_STANDINGS", "league_id": guest.league_id}
        async with connected(url, mode) as client:
            enclosed = await client.call_tool("league_query", {**query, "auth_token": guest.token})
            wrong = await client.call_tool("league_query", {**query, "auth_token": f"{guest.token}x"})
        async with connected(url, mode, bearer=guest.token) as client:
            beside = await client.call_tool("league_query", query)
        assert (wrong.is_error, wrong.structured_content["error_code"]) == (True, "E012")
        for result in (enclosed, beside):
            assert result.is_error is not True, result
            assert result.structured_content["message_type"] == "LEAGUE_QUERY_RESPONSE"
            assert result.structured_content["success"] is True


async def told_in_a_session(client: Client, news: asyncio.Queue[str], play: Callable[[], Awaitable[Any]]) -> None:
    await client.subscribe_resource(STANDINGS)
    await play()
    assert await news.get() == STANDINGS
    await client.unsubscribe_resource(STANDINGS)


async def told_on_a_stream(client: Client, news: asyncio.Queue[str], play: Callable[[], Awaitable[Any]]) -> None:
    async with client.listen(resource_subscriptions=[STANDINGS]) as events:
        await play()
        async for event in events:
            assert isinstance(event, ResourceUpdated)
            assert event.uri == STANDINGS
            break


@subscribes_as_before
@pytest.mark.parametrize(("mode", "is_told"), [("legacy", told_in_a_session), ("2026-07-28", told_on_a_stream)])
async def test_a_subscriber_is_told_that_the_standings_change_while_a_league_is_played(
    plan: PlanMaker, mode: str, is_told: Callable[..., Awaitable[None]]
) -> None:
    news: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            news.put_nowait(str(message.params.uri))

    async with asyncio.timeout(BOUND), league(plan) as there:
        async with connected(there.urls[Role.LEAGUE_MANAGER], mode, message_handler=hear) as client:
            await is_told(client, news, there.played)
            (now,) = (await client.read_resource(STANDINGS)).contents
        assert isinstance(now, types.TextResourceContents)
        assert sum(row["played"] for row in json.loads(now.text)["standings"]) > 0


async def test_agents_of_one_process_are_told_apart(plan: PlanMaker) -> None:
    async with league(plan) as there:
        names = {}
        for role, url in there.urls.items():
            async with connected(url, "auto") as client:
                assert client.server_info is not None
                names[role] = client.server_info.name
        assert len(set(names.values())) == len(there.urls), names


async def test_agents_in_processes_of_their_own_answer_too(tmp_path: Path) -> None:
    """They run on another event loop than the tests."""
    first = free_ports(3)
    home, manager = ["--home", tmp_path], ["--manager", f"http://localhost:{first}/mcp"]
    commands: list[list[object]] = [
        ["manager", "--port", first, "--players", 2, "--referees", 1, *home],
        ["referee", "--port", first + 1, *manager, *home],
        ["player", "--port", first + 2, *manager, *home],
    ]
    with running(*commands) as processes:
        for sentence in ("P01 joins", "REF01 joins"):
            await asyncio.to_thread(processes[0].prints, sentence)
        for port, mode in itertools.product(range(first, first + 3), MODES):
            async with connected(f"http://localhost:{port}/mcp", mode) as client:
                assert (await client.list_tools()).tools
                assert (await client.read_resource("league://protocol")).contents
                result = await client.call_tool("get_rules", {"game_type": "even_odd"})
                assert result.structured_content["game_type"] == "even_odd"
        for process in processes:
            process.signal(signal.SIGTERM)
        for process in processes:
            assert await asyncio.to_thread(process.ends) == 0
            assert "Traceback" not in process.text


def still_running() -> set[asyncio.Task[Any] | None]:
    """All tasks but the one that the SDK's stream of events starts once and leaves to the event loop."""
    return {task for task in asyncio.all_tasks() if getattr(task.get_coro(), "__name__", "") != "_shutdown_watcher"}


@subscribes_as_before
@every_mode
async def test_a_league_stops_at_once_while_clients_have_streams_open(
    plan: PlanMaker, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    held = asyncio.Event()
    stopped = asyncio.Event()

    async def hold(url: str) -> None:
        async with connected(url, mode) as client:
            await client.list_tools()
            if mode == "legacy":
                await client.subscribe_resource("league://protocol")
                held.set()
                await stopped.wait()
                return
            async with client.listen(resource_subscriptions=["league://protocol"]) as events:
                held.set()
                assert [event async for event in events] == []

    async with asyncio.timeout(BOUND):
        async with league(plan) as there:
            holding = asyncio.create_task(hold(there.urls[Role.PLAYER]))
            await held.wait()
        stopped.set()
        await holding
        await until(lambda: still_running() == {asyncio.current_task()})
    assert [record for record in caplog.records if record.levelname in {"ERROR", "CRITICAL"}] == []


@pytest.mark.parametrize(("asks", "loaded"), [("asks", ["mcp", "mcp_types"]), ("plays", [])])
def test_agents_that_only_play_never_load_the_sdk(tmp_path: Path, asks: str, loaded: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.mcp.lone_league", str(tmp_path / "SHARED"), str(free_ports(4)), asks],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == loaded
