"""Which matches are played again because the place of an agent was lost, and when."""

import pytest

from agent_league.lab.lost_matches import LostMatches
from agent_league.model.agents import Role
from agent_league.model.events import AgentRegistered, MatchFinished, MatchReplaced
from agent_league.model.results import UNREPORTED_KEY, MatchResult, Outcome, Termination
from agent_league.model.schedule import Pairing


def finish(
    lost: LostMatches, match_id: str, failed: str = "", how: Termination = Termination.DISCONNECTED, referee: str = ""
) -> None:
    outcome = Outcome.TECHNICAL_LOSS if failed else Outcome.DRAW
    details = {UNREPORTED_KEY: referee} if referee else {}
    terminations = {failed: how} if failed else {}
    lost.note_event(MatchFinished(MatchResult(match_id, 1, ("P01", "P02"), outcome, None, details, terminations)))


def come_back(lost: LostMatches, *agents: str) -> None:
    for agent_id in agents:
        lost.note_event(AgentRegistered(Role.PLAYER, agent_id, agent_id, "http://localhost:1/mcp", returned=True))


@pytest.fixture
def lost() -> LostMatches:
    return LostMatches()


def test_a_match_that_a_player_lost_with_its_place_is_played_again_once_it_is_back(lost: LostMatches) -> None:
    finish(lost, "R1M1", "P02")
    assert not lost.is_settled
    lost.note_loss({"P02", "P04"})
    assert not list(lost.take_ready())
    come_back(lost, "P04")
    assert not list(lost.take_ready())
    come_back(lost, "P02")
    assert list(lost.take_ready()) == ["R1M1"]
    assert not list(lost.take_ready())
    assert not lost.is_settled
    lost.note_event(MatchReplaced("R1M1", Pairing("R1M1-2", 1, "P01", "P02", replaces="R1M1")))
    assert not lost.is_settled
    finish(lost, "R1M1-2")
    assert lost.is_settled


def test_who_fails_at_a_place_that_answers_has_lost(lost: LostMatches) -> None:
    finish(lost, "R1M1", "P02", Termination.MOVE_TIMEOUT)
    assert lost.list_unexplained({"P02"}) == ["R1M1"]
    assert not lost.list_unexplained({"P01"})
    lost.note_answer(["R1M1"])
    assert lost.is_settled
    lost.note_loss({"P02"})
    come_back(lost, "P02")
    assert not list(lost.take_ready())


def test_a_match_that_began_before_the_return_is_lost_with_the_place_and_a_second_one_is_not(lost: LostMatches) -> None:
    lost.note_loss({"P02"})
    finish(lost, "R1M1", "P02", Termination.SUSPENDED)
    come_back(lost, "P02")
    finish(lost, "R2M1", "P02", Termination.BAD_TOKEN)
    assert list(lost.take_ready()) == ["R1M1", "R2M1"]
    for match_id in ("R1M1", "R2M1"):
        lost.note_event(MatchReplaced(match_id, Pairing(f"{match_id}-2", 1, "P01", "P02", replaces=match_id)))
    finish(lost, "R1M1-2", "P02")
    assert lost.list_unexplained({"P02"}) == ["R1M1-2"]
    finish(lost, "R2M1-2")
    finish(lost, "R3M1", "P02")
    lost.note_answer(["R1M1-2", "R3M1"])
    assert lost.is_settled


def test_a_match_that_a_lost_referee_never_reported_is_played_again_and_a_wrong_move_is_not(lost: LostMatches) -> None:
    lost.note_loss({"REF01", "P02"})
    finish(lost, "R1M1", referee="REF01")
    finish(lost, "R1M2", "P02", Termination.ILLEGAL_MOVE)
    come_back(lost, "P02")
    assert list(lost.take_ready()) == ["R1M1"]
    lost.give_up("R1M1")
    assert lost.is_settled
