"""What a move has cost: from a strategy's thought to the message, the log and the match file, and back from nowhere."""

import asyncio
import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_league.agent.answers import AnswerParser
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.in_process import run_agents
from agent_league.league.app import LeagueManager
from agent_league.model.agents import Role
from agent_league.players.observation import Observation, Thought, Usage
from agent_league.protocol import v2
from agent_league.protocol.v1.translation import translate_reply_to_v1, translate_to_v2
from agent_league.referee.verify import verify_match
from agent_league.testing.peers import ScriptedPlayer
from tests.conftest import BOUND, PlanMaker
from tests.players.chair import Fixed, chair, move_call, parity_call
from tests.protocol.examples_v1 import example

USAGE = Usage("openai:gpt-5-mini", 120, 8, 0.00012, 850, 2, None)


class Thoughtful:
    """Says what its move has cost."""

    instant = True

    def __init__(self, move: Any, usage: Any = USAGE) -> None:
        self.thought = Thought(move, usage)
        self.closed = 0

    def choose(self, observation: Observation) -> Thought:
        return self.thought

    async def close(self) -> None:
        self.closed += 1


async def test_what_a_move_has_cost_is_sent_with_it_and_logged(home: Path) -> None:
    strategy = Thoughtful("odd")
    async with chair(home, strategy) as seat:
        answer = await seat.call("choose_parity", parity_call())
        assert (answer["parity_choice"], answer["usage"]) == ("odd", asdict(USAGE))
        strategy.thought = Thought(2, USAGE)
        moved = await seat.call("make_move", move_call([1, 2]))
        assert (moved["move_data"], moved["usage"]) == (2, asdict(USAGE))
        costs = [line for line in seat.log() if line["event_type"] == "move_cost"]
    assert [(line["match_id"], line["input_tokens"], line["cost_usd"]) for line in costs] == [
        ("R1M1", 120, 0.00012)
    ] * 2


async def test_a_move_that_has_cost_nothing_is_sent_as_ever(home: Path) -> None:
    async with chair(home, Fixed("odd")) as seat:
        assert "usage" not in await seat.call("choose_parity", parity_call())
        assert "usage" not in await seat.call("make_move", move_call(["odd"]))


WRONG = [
    None,
    "a lot",
    {"model": "m"},
    Usage("m" * 201),
    Usage("m", input_tokens=-1),
    Usage("m", output_tokens=2**60),
    Usage("m", cost_usd=float("nan")),
    Usage("m", cost_usd=float("inf")),
    Usage("m", latency_ms="soon"),  # type: ignore[arg-type]
    Usage("m", fallback="f" * 201),
    Usage(None),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("usage", WRONG, ids=repr)
async def test_a_usage_that_can_not_be_sent_is_left_out_and_the_move_goes(home: Path, usage: Any) -> None:
    async with chair(home, Thoughtful("odd", usage)) as seat:
        answer = await seat.call("choose_parity", parity_call())
    assert (answer["parity_choice"], "usage" in answer) == ("odd", False)


async def test_an_illegal_thought_is_replaced_like_any_other_move(home: Path) -> None:
    async with chair(home, Thoughtful("Odd")) as seat:
        answer = await seat.call("choose_parity", parity_call())
    assert answer["parity_choice"] in ("even", "odd")
    assert answer["usage"] == asdict(USAGE)


async def test_a_strategy_with_an_end_is_ended_with_its_player(home: Path) -> None:
    strategy = Thoughtful("odd")
    async with chair(home, strategy):
        assert strategy.closed == 0
    assert strategy.closed == 1


def response(**fields: Any) -> dict[str, Any]:
    own: dict[str, Any] = {"sender": "player:P01", "timestamp": "2025-01-15T10:15:00Z", "conversation_id": "c"}
    written = v2.ChooseParityResponse.write(**own, match_id="R1M1", player_id="P01", parity_choice="odd", **fields)
    return written.to_wire()


async def test_a_strategy_whose_end_fails_ends_its_player_all_the_same(home: Path) -> None:
    class Clinging(Thoughtful):
        async def close(self) -> None:
            raise RuntimeError("no end")

    async with chair(home, Clinging("odd")) as seat:
        pass
    assert [line["error"] for line in seat.log() if line["event_type"] == "strategy_failed"] == [
        "RuntimeError('no end')"
    ]


STRANGE: list[Any] = [None, 5, "x" * 100_000, [], {}, {"model": 7, "cost_usd": "much"}, {"a": {"b": [1] * 1000}}]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("usage", STRANGE, ids=lambda usage: repr(usage)[:20])
def test_what_others_say_of_their_cost_is_never_held_against_them(usage: Any, strict: bool) -> None:
    reader = AnswerParser(strict=strict)
    read, noted = reader._parse_message(
        v2.ChooseParityResponse, v2.ChooseParityResponse.TYPE, {**response(), "usage": usage}
    )
    assert (read.parity_choice, noted) == ("odd", ())


class Boasting(ScriptedPlayer):
    """A stranger that says strange things of its cost."""

    usage: Any = None

    async def _answer_choice(self, params: Any) -> Any:
        return {**await super()._answer_choice(params), "usage": self.usage}


@pytest.mark.parametrize("usage", [{"model": "x" * 500_000}, ["tok-p02-" + "a" * 43, -1]], ids=["long", "odd"])
async def test_a_strange_usage_is_evidence_in_the_match_file_and_nothing_more(
    home: Path, plan: PlanMaker, usage: Any
) -> None:
    league = plan(players=2, referees=1, strategies=("always_odd",))
    network, stranger = MemoryNetwork(), Boasting("Stranger", "http://localhost:8150/mcp")
    stranger.usage = usage
    network.attach(stranger.endpoint, stranger.answer)
    async with asyncio.timeout(BOUND), run_agents(network, league.agent_plans[:-1]) as (manager, *_):
        await stranger.register(network, "http://localhost:8000/mcp")
        assert isinstance(manager, LeagueManager)
        await manager.completed.wait()
    match_file = json.loads((home / "data/matches" / league.league.league_id / "R1M1.json").read_text())
    assert set(match_file["result"]["terminations"].values()) == {"normal"}
    assert match_file["tolerated"] == {}
    assert len(json.dumps(match_file)) < 50_000
    assert "tok-p02" not in json.dumps(match_file)
    assert [finding for finding in verify_match(match_file) if not finding.ok] == []


def test_league_v1_has_no_word_for_the_cost_and_goes_without() -> None:
    told = translate_reply_to_v1(
        response(usage=v2.MoveUsage(**asdict(USAGE))), example("PLAY_REQUEST"), datetime.now(UTC)
    )
    assert told["play"]["value"] == "odd"
    assert "usage" not in json.dumps(told)


@pytest.mark.parametrize(
    ("deadline", "limit"),
    [
        ("2025-01-15T10:15:35Z", timedelta(seconds=35)),
        ("2025-01-15T10:15:00Z", timedelta()),
        ("2025-01-15T10:14:59Z", None),
        ("9999-12-31T23:59:59Z", timedelta(days=1)),
        ("2025-01-15T10:15:35", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
async def test_a_deadline_is_as_far_from_now_as_the_referee_gives_us(
    home: Path, deadline: str | None, limit: timedelta | None
) -> None:
    strategy = Fixed("even")
    async with chair(home, strategy) as seat:
        before = datetime.now(UTC)
        await seat.call("choose_parity", parity_call(deadline=deadline))
        after = datetime.now(UTC)
    seen = strategy.seen[-1].deadline
    assert seen is None if limit is None else seen is not None and before <= seen - limit <= after


@pytest.mark.parametrize(
    ("timestamp", "seconds", "deadline"),
    [
        ("2025-01-15T10:15:00.250Z", 30, "2025-01-15T10:15:30.250Z"),
        ("2025-01-15T10:15:00.000Z", 0.2, "2025-01-15T10:15:00.200Z"),
        ("2025-01-15T10:15:00.000Z", None, None),
        ("2025-01-15T10:15:00.000Z", 0, None),
        ("2025-01-15T10:15:00.000Z", 1e300, None),
        ("9999-12-31T23:59:59.000Z", 30, None),
    ],
)
def test_the_limit_of_league_v1_is_a_deadline_too(timestamp: str, seconds: float | None, deadline: str | None) -> None:
    state = {**example("PLAY_REQUEST")["game_state"], "timeout_seconds": seconds}
    call = translate_to_v2(example("PLAY_REQUEST", game_state=state, timestamp=timestamp), Role.PLAYER)
    assert call.params.get("deadline") == deadline


async def test_a_thought_is_kept_with_its_cost_for_the_next_attempt(home: Path) -> None:
    async with chair(home, Thoughtful("odd")) as seat:
        answers = await asyncio.gather(*(seat.call("choose_parity", parity_call()) for _ in range(3)))
    assert [answer["usage"] for answer in answers] == [asdict(USAGE)] * 3
