"""Repeated games in whole leagues: rounds that a player knows aren't sent again, and nothing else changes."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from agent_league.config import ConfigLoader
from agent_league.http.carrier import HttpReply
from agent_league.http.client import HttpCarrier
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.agent_plan import NO_LISTENERS, PlayerPlan
from agent_league.launch.in_process import agent_endpoint, play_in_process, run_agents
from agent_league.launch.plan import LeaguePlan, LeagueRequest, make_league_plan
from agent_league.league.app import LeagueManager
from agent_league.players.app import Player
from agent_league.players.observation import Move, Observation
from agent_league.referee.verify import verify_match
from agent_league.storage.repositories import MatchRepository
from agent_league.testing.peers import ScriptedPlayer
from tests.conftest import BOUND, free_ports
from tests.launch.scripted_guests import hosted, served

LEAGUE = "league_prisoners_dilemma"
STRATEGIES = ("tit_for_tat", "random", "grudger", "pavlov", "frequency", "pattern", "markov", "alternating")
RESTARTED_AT = 6

Record = dict[str, Any]


class CountingNetwork(MemoryNetwork):
    """Counts the bytes of all frames."""

    def __init__(self, *, forgets_rounds: bool = False) -> None:
        """With `forgets_rounds`, players are as they were before: none says that it keeps rounds."""
        super().__init__()
        self.bytes_carried = 0
        self._forgets_rounds = forgets_rounds

    async def exchange(self, endpoint: str, frame: bytes, *rest: Any, **named: Any) -> HttpReply:
        status, body = await super().exchange(endpoint, frame, *rest, **named)
        self.bytes_carried += len(frame) + len(body)
        return status, body.replace(b',"rounds_since":true', b"") if self._forgets_rounds else body


def plan_dilemma(home: Path, rounds: int, strategies: tuple[str, ...], **request: Any) -> LeaguePlan:
    wanted = {"players": len(strategies), "parameters": {"repeat": rounds}, "strategies": strategies, **request}
    asked = LeagueRequest(home=home, game="prisoners_dilemma", referees=1, seed="7", **wanted)
    return make_league_plan(ConfigLoader(home, {}), asked)


def copy_home(home: Path, name: str) -> Path:
    """Another home with the same configuration."""
    return shutil.copytree(home, home.with_name(name))


def read_matches(home: Path) -> list[Record]:
    """All match files, which hold and were played to their end."""
    matches = MatchRepository(LEAGUE, home)
    records = [matches.load(match_id) or {} for match_id in matches.list()]
    for record in records:
        assert [finding.sentence for finding in verify_match(record) if not finding.ok] == []
        assert set(record["result"]["terminations"].values()) == {"normal"}
    return records


def list_left_out(record: Record, player_id: str) -> list[int]:
    """How many rounds each question to a player left out; with those shown they are all rounds so far."""
    asked = [
        entry["message"]
        for entry in record["transcript"]
        if (entry["direction"], entry.get("method"), entry.get("player_id")) == ("sent", "make_move", player_id)
    ]
    for message in asked:
        left_out, request = message["context"].get("rounds_since", 0), message["move_request"]
        assert left_out + len(request["context"]["rounds"]) == request["step"]
    return [message["context"].get("rounds_since", 0) for message in asked]


async def test_our_players_are_sent_each_round_once_and_guests_all_of_them_over_http(
    home: Path,
) -> None:
    port = free_ports(5)
    places = {"manager_port": port, "referee_port": port + 1, "player_port": port + 2}
    made = plan_dilemma(home, 12, ("tit_for_tat", "random"), players=3, **places)
    guest = ScriptedPlayer("Guest", f"http://localhost:{port + 4}/mcp")
    async with AsyncExitStack() as stack:
        carrier = HttpCarrier()
        stack.push_async_callback(carrier.close)
        await stack.enter_async_context(served(guest.answer, port + 4))
        league = await stack.enter_async_context(hosted(made, guests=1))
        answer = await guest.register(carrier, f"http://localhost:{port}/mcp", game_types=["*"])
        assert answer["player_id"] == "P03"
        await league.completed()
    records = read_matches(home)
    assert len(records) == 3
    for record in records:
        for player_id in record["players"].values():
            expected = [0] * 12 if player_id == "P03" else [0, *range(11)]
            assert list_left_out(record, player_id) == expected


async def test_every_strategy_plays_the_same_as_where_all_rounds_are_sent(home: Path) -> None:
    played = []
    for forgets_rounds in (False, True):
        own_home = copy_home(home, f"forgets-{forgets_rounds}")
        network = CountingNetwork(forgets_rounds=forgets_rounds)
        await play_in_process(plan_dilemma(own_home, 15, STRATEGIES), network)
        records = read_matches(own_home)
        left_out = {sum(list_left_out(record, player)) for record in records for player in record["players"].values()}
        assert left_out == ({0} if forgets_rounds else {sum(range(14))})
        played.append({record["match_id"]: (record["moves"], record["result"]) for record in records})
    assert len(played[0]) == len(STRATEGIES) * (len(STRATEGIES) - 1) // 2
    assert played[0] == played[1]


async def test_bytes_on_the_wire_and_in_the_match_file_grow_with_the_rounds(home: Path) -> None:
    sizes = []
    for rounds in (100, 200, 400):
        own_home, network = copy_home(home, f"rounds-{rounds}"), CountingNetwork()
        await play_in_process(plan_dilemma(own_home, rounds, ("tit_for_tat", "random")), network)
        (path,) = own_home.rglob("R1M1.json")
        sizes.append((network.bytes_carried, path.stat().st_size))
    for measured in zip(*sizes, strict=True):
        first, second = (later - earlier for earlier, later in pairwise(measured))
        assert 1.9 * first < second < 2.1 * first, measured


class Watcher(MemoryNetwork):
    """Says when a player's answer at a step has come back."""

    def __init__(self, endpoint: str, step: int) -> None:
        super().__init__()
        self.is_answered = asyncio.Event()
        self._watched = (endpoint, step)

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpReply:
        reply = await super().exchange(endpoint, frame, limit, bearer, headers)
        called = json.loads(frame)
        if called["method"] == "make_move" and (endpoint, called["params"]["move_request"]["step"]) == self._watched:
            self.is_answered.set()
        return reply


class Rememberer:
    """Plays by all rounds so far, and keeps what it saw; at a step it waits until it may go on."""

    def __init__(self, waits_at: int | None = None) -> None:
        self.seen: list[list[tuple[Move, Move]]] = []
        self.waits = asyncio.Event()
        self.may_go_on = asyncio.Event()
        self._waits_at = waits_at

    async def choose(self, observation: Observation) -> Move:
        self.seen.append(observation.rounds)
        if observation.step == self._waits_at:
            self.waits.set()
            await self.may_go_on.wait()
        defections = sum(theirs == "defect" for _, theirs in observation.rounds)
        return "defect" if defections % 2 or observation.step % 3 == 2 else "cooperate"


async def test_a_player_that_is_restarted_in_the_middle_of_a_match_plays_on(home: Path) -> None:
    made = plan_dilemma(home, 10, ("random", "random"))
    other, first, second = Rememberer(waits_at=RESTARTED_AT), Rememberer(), Rememberer()
    endpoint = agent_endpoint(made.players[1])
    network = Watcher(endpoint, RESTARTED_AT)
    staying = [made.manager, *made.referees, replace(made.players[0], strategy=other)]
    async with asyncio.timeout(BOUND), run_agents(network, staying) as agents:
        async with run_player(replace(made.players[1], strategy=first), network):
            await network.is_answered.wait()
        async with run_player(replace(made.players[1], strategy=second), network) as player:
            await player._session.registered.wait()
            other.may_go_on.set()
            manager = agents[0]
            assert isinstance(manager, LeagueManager)
            await manager.completed.wait()
    (record,) = read_matches(home)
    failed = [entry["error_code"] for entry in record["transcript"] if entry["direction"] == "failed"]
    assert failed == ["E016"]
    assert [len(rounds) for rounds in first.seen] == list(range(RESTARTED_AT + 1))
    assert [len(rounds) for rounds in second.seen] == list(range(RESTARTED_AT + 1, 10))
    assert second.seen[-1] == [(mine, theirs) for theirs, mine in other.seen[-1]]


@asynccontextmanager
async def run_player(seat: PlayerPlan, network: MemoryNetwork) -> AsyncIterator[Player]:
    """A player of a plan; leaving the context ends it."""
    player = seat.make_agent(network, NO_LISTENERS)
    network.attach(agent_endpoint(seat), player.dispatcher.answer_request)
    run = asyncio.create_task(player.run())
    try:
        yield player
    finally:
        network.detach(agent_endpoint(seat))
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run
