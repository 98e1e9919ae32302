"""A league whose agents call each other over links, beside the same one over single calls."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.http.link_client import LinkConnection
from agent_league.launch.agent_plan import AgentListeners
from agent_league.launch.plan import LeaguePlan, LeagueRequest, make_league_plan
from agent_league.launch.serving import offer_links, serve_agents
from agent_league.model.events import Event, LeagueCompleted
from agent_league.storage.paths import DataPaths
from tests.conftest import BOUND, NO_PAUSES, free_ports

MESSAGES = ("message_sent", "message_received", "message_unanswered")


def make_plan(home: Path, **network: Any) -> LeaguePlan:
    make_home(home)
    port = free_ports(9)
    where: dict[str, Any] = {"manager_port": port, "referee_port": port + 1, "player_port": port + 3}
    settings = NO_PAUSES | {f"network.{name}": value for name, value in network.items()}
    return make_league_plan(
        ConfigLoader(home, settings), LeagueRequest(home=home, players=6, referees=2, seed="links", **where)
    )


async def play(plan: LeaguePlan, *, has_links: bool) -> LeagueCompleted:
    """Play a league as three processes would, each with its own servers and connections."""
    stop, completed = asyncio.Event(), list[LeagueCompleted]()

    def listen(event: Event) -> None:
        if isinstance(event, LeagueCompleted):
            completed.append(event)
            stop.set()

    watchers = AgentListeners(on_league_event=listen)
    groups = [[plan.manager], plan.referees, plan.players]
    async with asyncio.timeout(BOUND):
        await asyncio.gather(*(serve_agents(group, stop, watchers, has_links=has_links) for group in groups))
    return completed[0]


def count_lines(home: Path) -> Counter[tuple[str, str, str]]:
    """The lines about calls of matches, by agent, kind of line and method; when notices are sent differs."""
    counted: Counter[tuple[str, str, str]] = Counter()
    for file in DataPaths(home).logs_folder.rglob("*.jsonl"):
        for line in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            method = line["message"].get("method") if isinstance(line.get("message"), dict) else None
            if line["event_type"] in MESSAGES and method in ("handle_game_invitation", "choose_parity", "start_match"):
                counted[line["component"], line["event_type"], method] += 1
    return counted


async def test_a_league_over_links_is_the_same_league_with_the_same_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked: Counter[str] = Counter()
    call = LinkConnection.exchange

    async def count(self: LinkConnection, endpoint: str, frame: bytes, *rest: Any) -> Any:
        linked[json.loads(frame)["method"]] += 1
        return await call(self, endpoint, frame, *rest)

    monkeypatch.setattr(LinkConnection, "exchange", count)
    tables, lines = [], []
    for has_links in (False, True):
        played = make_plan(tmp_path / str(has_links))
        completed = await play(played, has_links=has_links)
        tables.append([(row.player_id, row.wins, row.points) for row in completed.standings])
        lines.append(count_lines(played.home))
        if not has_links:
            assert not linked
    assert tables[0] == tables[1]
    assert lines[0] == lines[1]
    for method in ("handle_game_invitation", "choose_parity", "notify_match_result", "start_match", "notify_round"):
        assert linked[method] > 10, method
    assert linked["report_match_result"] > 10


async def test_links_can_be_turned_off_and_are_not_offered_behind_a_proxy(tmp_path: Path) -> None:
    settings: tuple[dict[str, Any], ...] = (
        {"links": False},
        {"trusted_proxies": ["127.0.0.1"]},
        {"public_url": "https://example.org/x"},
    )
    for setting in settings:
        seats = make_plan(tmp_path, **setting).players
        assert {seat.settings.link_port for seat in offer_links(seats)} == {None}
    seats = make_plan(tmp_path).players
    assert {seat.settings.link_port for seat in offer_links(seats)} == {seats[0].port}
    assert offer_links([]) == []
