"""Whole leagues with an A2A agent of the official SDK in a seat: in every form of reply, binding and version."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_league.a2a.agent_card import build_auth_headers, find_a2a_agent, parse_card_url
from agent_league.a2a.strategy import A2aStrategy
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.agent_plan import AgentListeners
from agent_league.launch.in_process import run_agents
from agent_league.launch.plan import LeaguePlan
from agent_league.players.events import LeagueOver, PlayerEvent
from agent_league.referee.verify import verify_match
from tests.a2a.agents import AgentProcess, RunningAgent, wanting
from tests.conftest import BOUND, NO_PAUSES, PlanMaker

LOCAL = ("localhost", "127.0.0.1", "::1")
BEARER = wanting(httpAuthSecurityScheme={"scheme": "Bearer"})


async def with_agent(plan: LeaguePlan, agent: RunningAgent, secret: str | None = None) -> LeaguePlan:
    """The plan, with the agent in its first seat."""
    found = await find_a2a_agent(parse_card_url(agent.url), LOCAL)
    strategy = A2aStrategy(found, build_auth_headers(found.card, secret))
    return replace(plan, players=(replace(plan.players[0], strategy=strategy), *plan.players[1:]))


async def play_match(
    plan: PlanMaker,
    agent: RunningAgent,
    secret: str | None = None,
    game: str = "tic_tac_toe",
    limits: dict[str, Any] = NO_PAUSES,
) -> dict[str, Any]:
    """Plays a league of two with the agent, and returns the match file, which has to hold."""
    planned = plan(limits, players=2, referees=1, game=game, strategies=("random",), seed="7")
    is_over = asyncio.Event()

    def watch(player_id: str, event: PlayerEvent) -> None:
        if player_id == "P01" and isinstance(event, LeagueOver):
            is_over.set()

    seats = (await with_agent(planned, agent, secret)).agent_plans
    async with run_agents(MemoryNetwork(), seats, AgentListeners(on_player_event=watch)), asyncio.timeout(BOUND):
        await is_over.wait()
    match = read_match(planned.home)
    assert [finding.sentence for finding in verify_match(match) if not finding.ok] == []
    return match


def read_match(home: Path) -> dict[str, Any]:
    [path] = (home / "data" / "matches").glob("*/R1M1.json")
    match: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return match


def find_files_with(home: Path, text: str) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def moves_of(match: dict[str, Any], player_id: str = "P01") -> list[Any]:
    received = [line for line in match["transcript"] if line["direction"] == "received"]
    own = [line["message"] for line in received if line["player_id"] == player_id]
    return [message["move_data"] for message in own if "move_data" in message]


@pytest.mark.parametrize("streaming", [False, True], ids=["at once", "streaming"])
@pytest.mark.parametrize("form", ["input_required", "completed", "message", "slow"])
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_an_agent_plays_in_every_form_of_reply(
    plan: PlanMaker, agents: AgentProcess, version: str, binding: str, form: str, streaming: bool
) -> None:
    agent = agents.open(form, card={"interfaces": [(binding, version)], "streaming": streaming})
    match = await play_match(plan, agent)
    assert match["result"]["status"] != "TECHNICAL_LOSS"
    assert moves_of(match) == [told["data"]["legal_moves"][0] for told in agent.questions]


async def test_a_match_is_a_context_and_a_task_that_asks_for_input_gets_the_next_question(
    plan: PlanMaker, agents: AgentProcess
) -> None:
    agent = agents.open("input_required")
    await play_match(plan, agent)
    told = agent.told
    assert len({one["context_id"] for one in told}) == 1
    assert [one["new"] for one in told] == [True] + [False] * (len(told) - 1)
    assert told[-1]["data"]["kind"] == "match_over"
    assert told[-1]["data"]["outcome"] in ("WIN", "LOSS", "DRAW")


async def test_after_a_task_that_has_ended_the_next_question_begins_another_in_the_same_context(
    plan: PlanMaker, agents: AgentProcess
) -> None:
    agent = agents.open("completed")
    await play_match(plan, agent)
    assert len({one["context_id"] for one in agent.told}) == 1
    assert all(one["new"] for one in agent.told)


async def test_the_question_holds_view_and_legal_moves_as_data_and_as_text(
    plan: PlanMaker, agents: AgentProcess
) -> None:
    agent = agents.open()
    await play_match(plan, agent)
    asked = agent.questions[0]
    assert {"view", "legal_moves", "seat", "step", "match_id", "opponent_id", "deadline"} <= asked["data"].keys()
    assert "Legal moves: 0, 1, 2" in asked["text"]
    assert "Tic-Tac-Toe" in asked["text"]
    assert "<league-data" in asked["text"]


async def test_text_that_comes_in_pieces_of_an_artifact_is_a_move(plan: PlanMaker, agents: AgentProcess) -> None:
    agent = agents.open("pieces", ["odd"], card={"streaming": True})
    match = await play_match(plan, agent, game="even_odd")
    assert match["result"]["status"] != "TECHNICAL_LOSS"
    assert len(agent.questions) == 1


async def test_an_illegal_move_is_asked_again_with_what_was_wrong(plan: PlanMaker, agents: AgentProcess) -> None:
    agent = agents.open("input_required", ["neither", "even"])
    match = await play_match(plan, agent, game="even_odd")
    assert match["result"]["status"] != "TECHNICAL_LOSS"
    first, second = agent.questions
    assert "refused_move" not in first["data"]
    assert second["data"]["refused_move"] == "neither"
    assert "'neither' is no legal move" in second["text"]
    assert first["context_id"] == second["context_id"]


@pytest.mark.parametrize(
    ("form", "answer", "termination"),
    [
        ("input_required", "I would rather not.", "illegal_move"),
        ("input_required", {"move": {"deep": [1]}}, "illegal_move"),
        ("failed", "", ""),
    ],
)
async def test_an_agent_that_gives_no_legal_move_loses_after_three_attempts(
    plan: PlanMaker, agents: AgentProcess, form: str, answer: Any, termination: str
) -> None:
    agent = agents.open(form, [answer])
    match = await play_match(plan, agent, game="even_odd")
    assert match["result"]["status"] == "TECHNICAL_LOSS"
    assert match["result"]["winner_player_id"] == "P02"
    assert termination in json.dumps(match["result"])
    assert len(agent.questions) == 3
    assert "\x1b" not in json.dumps(match, ensure_ascii=False)


async def test_a_silent_agent_loses_by_the_referee_s_deadline(plan: PlanMaker, agents: AgentProcess) -> None:
    agent = agents.open("silent")
    match = await play_match(plan, agent, game="even_odd", limits={**NO_PAUSES, "timeouts.move_timeout_sec": 1})
    assert match["result"]["status"] == "TECHNICAL_LOSS"
    assert "timeout" in json.dumps(match["result"])


async def test_the_owner_s_secret_is_sent_by_the_card_s_scheme_and_stands_nowhere(
    plan: PlanMaker, agents: AgentProcess, home: Path
) -> None:
    secret = "s3cret-of-the-owner"
    agent = agents.open(card=BEARER, key=["authorization", f"Bearer {secret}"])
    match = await play_match(plan, agent, secret)
    assert match["result"]["status"] != "TECHNICAL_LOSS"
    assert find_files_with(home, "R1M1")
    assert find_files_with(home, secret) == []


async def test_an_agent_that_refuses_the_secret_loses_with_a_sentence(plan: PlanMaker, agents: AgentProcess) -> None:
    agent = agents.open(card=BEARER, key=["authorization", "Bearer right"])
    match = await play_match(plan, agent, "wrong")
    assert match["result"]["status"] == "TECHNICAL_LOSS"
    assert "401" in json.dumps(match["transcript"])
    assert "wrong" not in json.dumps(match["transcript"])
