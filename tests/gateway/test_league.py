"""MCP hosts in real leagues: every part a process of its own, the hosts scripted clients of the SDK."""

import asyncio
import json
from pathlib import Path
from typing import Any

from mcp import Client

from tests.cli.command import LEAGUE_ID, running
from tests.cli.command import league as command
from tests.conftest import BOUND
from tests.gateway.league import Processes, join, league_of, play, stdio, tool


def matches(league: Processes) -> dict[str, dict[str, Any]]:
    folder = league.home / "data" / "matches" / LEAGUE_ID
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("R*.json")}


def table(league: Processes) -> dict[str, dict[str, Any]]:
    path = league.home / "data" / "leagues" / LEAGUE_ID / "standings.json"
    return {row["display_name"]: row for row in json.loads(path.read_text(encoding="utf-8"))["standings"]}


async def test_one_host_over_stdio_and_one_over_http_play_a_league_of_four(tmp_path: Path) -> None:
    with league_of(tmp_path / "league", players=4, ours=2) as league:
        http = ["join", league.url, "--name", "Hyper", "--http", league.port + 4, "--home", tmp_path / "http"]
        with running(http) as (gateway,):
            gateway.prints(f"MCP gateway at http://localhost:{league.port + 4}/mcp")
            over_stdio = stdio("join", f"localhost:{league.port}", "--name", "Stan", "--home", tmp_path / "stdio")
            async with (
                asyncio.timeout(BOUND),
                Client(over_stdio) as stan,
                Client(f"http://localhost:{league.port + 4}/mcp") as hyper,
            ):
                told = await asyncio.gather(play(stan, lambda _: "even"), play(hyper, lambda _: "odd"))
        assert [process.ends() for process in league.all] == [0] * 4
        rows, played = table(league), matches(league)
    assert [row["played"] for row in rows.values()] == [3, 3, 3, 3]
    for name, choice, events in (("Stan", "even", told[0]), ("Hyper", "odd", told[1])):
        player_id, results = rows[name]["player_id"], [event for event in events if event["kind"] == "result"]
        own = [match["result"] for match in played.values() if player_id in match["result"]["choices"]]
        assert [result["choices"][player_id] for result in own] == [choice] * 3
        wins = sum(result["winner_player_id"] == player_id for result in own)
        assert [event["outcome"] for event in results].count("WIN") == wins == rows[name]["wins"]
        assert [event["kind"] for event in events].count("round") == 3
        assert "fallback" not in [event["kind"] for event in events]
    assert not any("TECHNICAL" in match["result"]["status"] for match in played.values())


async def test_a_host_that_never_moves_is_played_for_and_costs_nobody_a_match(tmp_path: Path) -> None:
    with league_of(tmp_path / "league", players=3, ours=2, move_seconds=4) as league:
        options = ["--name", "Absent", "--fallback", "always_odd", "--home", tmp_path / "host"]
        async with asyncio.timeout(BOUND), Client(stdio("join", league.url, *options)) as client:
            events = await play(client, lambda _: None)
        assert [process.ends() for process in league.all] == [0] * 4
        rows, played = table(league), matches(league)
    kinds = [event["kind"] for event in events]
    assert kinds.count("your_turn") == kinds.count("fallback") == kinds.count("result") == 2
    absent = rows["Absent"]["player_id"]
    results = [match["result"] for match in played.values()]
    assert {result["choices"][absent] for result in results if absent in result["choices"]} == {"odd"}
    assert {result["status"] for result in results} <= {"WIN", "DRAW"}


async def test_a_gateway_that_is_ended_and_started_again_comes_back_as_the_same_player(tmp_path: Path) -> None:
    """The league is paused meanwhile: whoever is away for a few seconds loses a match, and a short league ends."""
    with league_of(tmp_path / "league", players=3, ours=2, move_seconds=BOUND) as league:
        options = stdio("join", league.url, "--name", "Back", "--home", tmp_path / "host")
        async with asyncio.timeout(BOUND):
            async with Client(options) as client:
                first = await join(client)
                while not (await tool(client, "wait_for_turn", handle=first["handle"], after=1))["open_turns"]:
                    pass  # the other processes are still starting; it leaves in the middle of a match
                await organise(league, "pause")
            async with Client(options) as client:
                old = {"handle": first["handle"], "turn_id": "T1", "move": "even"}
                stale = await client.call_tool("make_move", old)
                assert stale.is_error, "a seat of an earlier life is none"
                again = await join(client)
                await organise(league, "resume")
                events = await play(client, lambda _: "even")
        assert [process.ends() for process in league.all] == [0] * 4
        results = [match["result"] for match in matches(league).values()]
    assert again["player_id"] == first["player_id"]
    assert again["handle"] != first["handle"]
    own = {result["status"] for result in results if first["player_id"] in result["choices"]}
    assert own & {"WIN", "DRAW"}, "the match after the pause is played by it"
    assert "even" in [move for event in events if event["kind"] == "result" for move in event["my_moves"]]


async def organise(league: Processes, action: str) -> None:
    """Have the organiser's command pause or resume the league."""
    done = await asyncio.to_thread(command, "admin", action, "--home", league.home)
    assert done.returncode == 0, done
