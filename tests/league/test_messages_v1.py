"""What the manager says to players of `league.v1`: the fields of 001, out of the season, and no others."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from agent_league.agent import dialects
from agent_league.agent.dialects import LeagueFacts, dialect_of
from agent_league.league.messages import ManagerMessages
from agent_league.model.results import MatchResult, Outcome
from agent_league.testing.virtual_time import VIRTUAL_START
from tests.league.conftest import OfficeMaker
from tests.league.office import Office
from tests.protocol.examples_v1 import BASE
from tests.protocol.examples_v1 import example as v1

DOUBLE = {"scheduling.format": "double_round_robin"}
OVERLAP = {"scheduling.overlap_rounds": True}


class Words:
    """What the manager would tell players of `league.v1` now."""

    def __init__(self, office: Office) -> None:
        self._manager = office.manager

    def league_start(self) -> dict[str, Any]:
        return self._adapted("LEAGUE_START_ANNOUNCEMENT", None)

    def round_complete(self, round_id: int) -> dict[str, Any]:
        return self._adapted("notify_round_completed", {"round_id": round_id})

    def league_complete(self) -> dict[str, Any]:
        return self._adapted("notify_league_completed", {})

    def _adapted(self, method: str, message: dict[str, Any] | None) -> dict[str, Any]:
        return dict(dialect_of("league.v1").adapt_notice(method, message, self._facts) or {})

    def _facts(self) -> LeagueFacts:
        messages = self._manager._announcer._messages
        assert isinstance(messages, ManagerMessages)
        return replace(messages.collect_facts(), now=VIRTUAL_START)


async def started(office: OfficeMaker, overrides: dict[str, Any] | None = None) -> tuple[Office, Words]:
    """A league of four that has just begun; nobody answers in it."""
    here = office({**DOUBLE, **(overrides or {})})
    for number in range(1, 5):
        await here.register(f"Agent {number}", f"http://localhost:{8100 + number}/mcp", sender="player:x")
    await here.register("Referee", "http://localhost:8001/mcp", role="referee")
    here.manager.state.start_league()
    return here, Words(here)


def played(office: Office, winners: Sequence[str | None]) -> None:
    """The first matches of the schedule end so."""
    season = office.manager.state
    for pairing, winner in zip(season.schedule.pairings, winners, strict=False):
        season.assign_match(pairing.match_id, "REF01")
        outcome = Outcome.WIN if winner else Outcome.DRAW
        result = MatchResult(pairing.match_id, pairing.round_id, pairing.players, outcome, winner)
        season.record_result(result, "REF01")


def like_golden(sent: dict[str, Any]) -> dict[str, Any]:
    """The message as it travels, once its envelope is that of the example."""
    golden = v1(sent["message_type"])
    assert not list(BASE.iter_errors(sent))
    assert list(sent) == list(golden)
    for name in ("protocol", "message_type", "match_id", "sender"):
        assert sent[name] == golden[name]
    assert sent["timestamp"] == "2025-01-15T10:00:00.000Z"
    return sent


async def test_the_start_tells_the_whole_schedule_in_the_ids_of_001(office: OfficeMaker) -> None:
    _, words = await started(office)
    info = like_golden(words.league_start())["league_info"]
    golden = v1("LEAGUE_START_ANNOUNCEMENT")["league_info"]
    assert {**info, "schedule": info["schedule"][:1]} == golden
    assert [len(round_["matches"]) for round_ in info["schedule"]] == [2] * 6


async def test_of_a_league_too_long_for_one_message_the_first_rounds_are_told(
    office: OfficeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, words = await started(office)
    for most, rounds in ((12, 6), (11, 5), (4, 2), (1, 1)):
        monkeypatch.setattr(dialects, "MAX_ANNOUNCED_MATCHES", most)
        info = like_golden(words.league_start())["league_info"]
        assert (len(info["schedule"]), info["total_rounds"]) == (rounds, 6)


async def test_a_round_that_is_over_tells_shared_ranks(office: OfficeMaker) -> None:
    here, words = await started(office)
    played(here, ["P01", "P03"])
    sent = like_golden(words.round_complete(1))
    assert (sent["round_id"], sent["round_summary"]) == (1, v1("ROUND_COMPLETE")["round_summary"])


async def test_a_round_that_is_over_tells_nothing_of_the_next(office: OfficeMaker) -> None:
    here, words = await started(office, OVERLAP)
    played(here, ["P01", "P03", "P03", "P02"])
    here.manager.state.complete_round(1)
    sent = like_golden(words.round_complete(1))
    assert sent["round_summary"] == v1("ROUND_COMPLETE")["round_summary"]


async def test_a_draw_is_neither_a_win_nor_a_loss(office: OfficeMaker) -> None:
    here, words = await started(office)
    played(here, [None, "P03"])
    summary = like_golden(words.round_complete(1))["round_summary"]
    assert summary["standings"] == [
        {"rank": 1, "player_id": "player_003", "wins": 1, "losses": 0},
        {"rank": 2, "player_id": "player_001", "wins": 0, "losses": 0},
        {"rank": 2, "player_id": "player_002", "wins": 0, "losses": 0},
        {"rank": 4, "player_id": "player_004", "wins": 0, "losses": 1},
    ]


async def test_the_end_tells_the_champion_with_its_win_rate(office: OfficeMaker) -> None:
    here, words = await started(office)
    order = ["P01", "P03", "P02", "P04"]
    pairs = [pairing.players for pairing in here.manager.state.schedule.pairings]
    winners = [min(pair, key=order.index) for pair in pairs]
    winners[next(at for at, pair in enumerate(pairs) if set(pair) == {"P01", "P03"})] = "P03"
    played(here, winners)
    sent = like_golden(words.league_complete())
    final, golden = sent["final_standings"], v1("LEAGUE_COMPLETE")["final_standings"]
    assert (sent["round_id"], final["total_rounds"], final["total_matches"]) == (6, 6, 12)
    assert final.keys() == golden.keys()
    number = final["champion"]["player_id"][-1]
    assert number in "13", "both are first"
    assert final["champion"] == {
        "player_id": f"player_00{number}",
        "display_name": f"Agent {number}",
        "wins": 5,
        "losses": 1,
        "win_rate": 0.833,
    }
    assert [row.keys() for row in final["rankings"]] == [row.keys() for row in golden["rankings"]]
    assert [(row["rank"], row["player_id"], row["wins"]) for row in final["rankings"]] == [
        (1, "player_001", 5),
        (1, "player_003", 5),
        (3, "player_002", 2),
        (4, "player_004", 0),
    ]


async def test_each_notice_is_a_conversation_of_its_own_and_the_same_one_keeps_it(office: OfficeMaker) -> None:
    here, words = await started(office)
    played(here, ["P01", "P03", "P01", "P02"])
    said = [
        words.league_start(),
        words.round_complete(1),
        words.round_complete(2),
        words.league_complete(),
    ]
    assert len({message["conversation_id"] for message in said}) == 4
    assert words.league_start()["conversation_id"] == said[0]["conversation_id"]
