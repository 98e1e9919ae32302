"""What has happened to a player, in sentences for its person."""

from typing import Any

import pytest

from agent_league.games.registry import load_game
from agent_league.players.descriptions import describe_event, rules_for_people
from agent_league.players.events import GameErrorReported, InvitationAnswered, LeagueOver, MatchOver, RoundAnnounced
from agent_league.players.human import ExternalTurn, FallbackPlayed
from agent_league.players.observation import GameRecord, Observation
from tests.web.seasons import NOW

TURN = ExternalTurn("T1", Observation("nim", "R1M1", "P01", "P02", ()), NOW, NOW)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (RoundAnnounced(1, "R1M1", "P02"), "Round 1: you meet <P02>."),
        (RoundAnnounced(2), "Round 2: you have a bye."),
        (MatchOver(GameRecord("R1M1", "nim", "P02", "DRAW")), "R1M1: A draw against <P02>."),
        (
            MatchOver(GameRecord("R1M1", "nim", "P02", "LOSS", details={"reason": "Too few"})),
            "R1M1: You lose against <P02>. Too few.",
        ),
        (GameErrorReported("R1M1", "E001", None, "lost"), "R1M1: the referee says E001: lost"),
        (GameErrorReported("R1M1", "E001", "no answer", "lost"), "R1M1: the referee says E001: no answer; lost"),
        (FallbackPlayed(TURN, [0, 1]), "Time is up in R1M1: the fallback strategy played [0, 1] for you."),
        (LeagueOver("P01"), "You are the champion."),
        (LeagueOver("P02"), "The champion is <P02>."),
        (LeagueOver(), ""),
        (InvitationAnswered("R1M1", "nim", "P02", accepted=True), ""),
    ],
)
def test_what_happens_is_said_in_a_sentence(what: Any, said: str) -> None:
    assert describe_event(what, "P01", lambda player_id: f"<{player_id}>") == said


def test_people_are_not_told_how_a_view_is_written() -> None:
    rules = load_game("prisoners_dilemma").how_to_play
    shown = rules_for_people(rules)
    assert shown[0].startswith("In every round both players")
    assert not any(text.startswith(("The view", "Each view")) for text in shown)
    assert all(shown)
