"""The page on MCP hosts is true: what it shows is started as it stands, and its example plays."""

import json
import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from agent_league.gateway.host_answers import MAX_EVENTS_PER_ANSWER, MAX_MOVE_LENGTH, MAX_ROWS
from agent_league.players.deadline import MARGIN_SECONDS
from agent_league.players.human import MAX_EVENTS, REMIND_SECONDS
from agent_league.players.strategies.always import AlwaysOdd
from agent_league.text import MAX_TEXT_LENGTH
from tests.cli.command import LEAGUE, Running, environment, league, running
from tests.conftest import free_ports
from tests.gateway.host import hosting
from tests.gateway.league import league_of, tool

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "mcp-hosts.md").read_text(encoding="utf-8")
SCRIPT = "/path/to/agent-league/league"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def commands() -> list[list[str]]:
    """The commands that hosts are told to start: of the JSON and TOML, and after `claude mcp add`."""
    told = [*map(json.loads, blocks("json")), *map(tomllib.loads, blocks("toml"))]
    keys = ("mcpServers", "servers", "mcp_servers")
    servers = [server for one in told for key in keys for server in one.get(key, {}).values()]
    lines = [line for block in blocks("bash") for line in block.splitlines() if " -- " in line]
    return [[server["command"], *server["args"]] for server in servers] + [
        shlex.split(line.partition(" -- ")[2]) for line in lines
    ]


def test_there_is_a_command_for_each_host() -> None:
    assert [command[0] for command in commands()] == [SCRIPT] * 5


@pytest.mark.parametrize("command", commands(), ids=lambda command: " ".join(command[1:]))
async def test_the_shown_command_is_a_gateway(tmp_path: Path, command: list[str]) -> None:
    started = [*LEAGUE, *command[1:]]
    env = environment(LEAGUE_HOME=str(tmp_path))
    async with Client(StdioServerParameters(command=started[0], args=started[1:], env=env)) as client:
        assert (await tool(client, "get_rules"))["game_type"] == "even_odd"


async def test_the_shown_http_address_is_the_gateway_s(tmp_path: Path) -> None:
    lines = [line for block in blocks("bash") for line in block.splitlines()]
    (start,) = [shlex.split(line) for line in lines if "--http" in line]
    (add,) = [shlex.split(line) for line in lines if "--transport http" in line]
    shown, port = start[-1], str(free_ports(1))
    arguments = [port if part == shown else part for part in start[1:]]
    with running(arguments, env=environment(LEAGUE_HOME=str(tmp_path))) as (gateway,):
        gateway.prints("MCP gateway at")
        async with Client(add[-1].replace(shown, port)) as client:
            assert "join_league" in [one.name for one in (await client.list_tools()).tools]


def test_the_example_plays_a_league(tmp_path: Path) -> None:
    with league_of(tmp_path / "league", players=3, ours=2) as processes:
        example = ROOT / "examples" / "mcp_player.py"
        home = ["--home", str(tmp_path / "mine")]
        player = Running([sys.executable, example, f"http://localhost:{processes.port}", "Scripted", *home])
        try:
            assert player.ends() == 0, player.text
            assert [process.ends() for process in processes.all] == [0] * 4
            assert "The league is over. You are number " in player.text
            assert player.text.count("It is your turn") == 2
        finally:
            player.close()


def test_the_example_says_in_a_sentence_what_is_wrong(tmp_path: Path) -> None:
    example = ROOT / "examples" / "mcp_player.py"
    port = free_ports(1)
    with league_of(tmp_path / "league", players=2, ours=2, stays=True) as processes:
        processes.manager.prints("The league starts")
        for arguments, sentence in (
            ([f"localhost:{processes.port}", "Late", "--home", str(tmp_path), "--port", str(port)], "rejected"),
            ([], "usage: mcp_player.py LEAGUE_URL NAME"),
        ):
            player = Running([sys.executable, example, *arguments])
            try:
                assert player.ends() == 1
                assert sentence in player.text
                assert "Traceback" not in player.text
            finally:
                player.close()


def test_every_option_of_the_page_exists() -> None:
    lines = [shlex.split(line) for block in blocks("bash") for line in block.splitlines() if "league" in line]
    for words in lines:
        at = next((index for index, word in enumerate(words) if word.endswith("/league")), None)
        if at is not None:
            shown = league(words[at + 1], "--help").stdout
            assert all(word in shown for word in words[at + 2 :] if word.startswith("--"))


async def test_the_page_names_every_tool_and_every_bound(home: Path) -> None:
    async with hosting(home, fallback=AlwaysOdd()) as host:
        tools = {one.name: one for one in (await host.client.list_tools()).tools}
        (prompt,) = (await host.client.list_prompts()).prompts
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == set(tools)
    assert f"`{prompt.name}`" in PAGE
    assert tools["wait_for_turn"].input_schema["properties"]["max_wait_s"]["maximum"] == 50
    assert f"the latest {MAX_EVENTS}" in PAGE
    assert f"cut to {MAX_TEXT_LENGTH} characters" in PAGE
    assert f"longer than {MAX_MOVE_LENGTH} characters" in PAGE
    assert f"{MAX_EVENTS_PER_ANSWER} at once" in PAGE
    assert f"the first {MAX_ROWS} rows" in PAGE
    assert (REMIND_SECONDS, MARGIN_SECONDS) == (2, 2), "as the page says"
