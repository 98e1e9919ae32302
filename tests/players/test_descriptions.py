"""What a person is told of events and rules, and sees of a match: each position, the end of a round, how it ended."""

from typing import Any

import pytest

from agent_league.games.registry import load_game
from agent_league.players.descriptions import MatchPositions, compute_view_after, describe_event, rules_for_people
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
        (LeagueOver(("P01",)), "You are the champion."),
        (LeagueOver(("P02",)), "The champion is <P02>."),
        (LeagueOver(("P02", "P01")), "You share the first place with <P02>."),
        (LeagueOver(("P02", "P03")), "The champions, who share the first place, are <P02> and <P03>."),
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


ALMOST = {"board": "XX.OO....", "turn": 0, "winner": None}
WON = " X | X | X\n---+---+---\n O | O | 5\n---+---+---\n 6 | 7 | 8\nYou are X."
LOST = " X | X | 2\n---+---+---\n O | O | O\n---+---+---\n 6 | 7 | X\nYou are X."


def turn(game_type: str = "tic_tac_toe", view: Any = None, seat: int = 0, **parameters: Any) -> Observation:
    rules = load_game(game_type).with_parameters(parameters).rules
    return Observation(game_type, "R1M1", "P01", "P02", (), view=view, seat=seat, rules=rules)


def over(outcome: str, mine: tuple[Any, ...], theirs: tuple[Any, ...], **details: Any) -> GameRecord:
    return GameRecord("R1M1", "any", "P02", outcome, mine, theirs, details=details)


@pytest.mark.parametrize(
    ("outcome", "mine", "theirs", "shown"),
    [
        ("WIN", (0, 1, 2), (3, 4), WON),
        ("LOSS", (0, 1, 8), (3, 4, 5), LOST),
        ("WIN", (0, 1, 8), (3, 4, 5), "You:       0, 1, 8\nThe other: 3, 4, 5"),  # not what the board says
        ("WIN", (0, 1), (3, 4), "You:       0, 1\nThe other: 3, 4"),  # the other never came back
        ("TECHNICAL_LOSS", (), (), ""),
    ],
)
def test_the_last_position_is_shown_where_it_is_known(
    outcome: str, mine: tuple[Any, ...], theirs: tuple[Any, ...], shown: str
) -> None:
    assert MatchPositions().describe_end(over(outcome, mine, theirs), turn(view=ALMOST)) == shown


@pytest.mark.parametrize(
    "view",
    [
        None,
        7,
        {"board": "XX"},
        {**ALMOST, "turn": 5},
        {**ALMOST, "board": ["\x1b"] * 9},
        {**ALMOST, "board": "XXXOO...."},
    ],
)
def test_a_view_that_is_no_position_ends_with_the_moves(view: Any) -> None:
    assert MatchPositions().describe_end(over("WIN", (0, 1, 2), ()), turn(view=view)) == "You:       0, 1, 2"


def test_of_a_game_that_hides_something_the_moves_and_what_was_paid_are_shown() -> None:
    seen = turn("kuhn_poker", {"card": "K", "other_card": None, "betting": [], "pot": 2})
    ended = over("WIN", ("bet",), ("pass",), payoffs={"P01": 1.0, "P02": -1.0})
    assert MatchPositions().describe_end(ended, seen) == "You:       bet\nThe other: pass\nYou get 1, the other -1."


def test_of_many_moves_the_last_are_shown() -> None:
    shown = MatchPositions().describe_end(over("DRAW", tuple(range(50)), ("\x1b[2J" * 50,)), None)
    assert shown.splitlines()[0] == "You:       50 moves, at last 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49"
    assert len(shown) < 200
    assert "\x1b" not in shown


def test_the_end_of_a_round_is_told_once() -> None:
    rules = load_game("kuhn_poker").with_parameters({"repeat": 3}).rules
    state = rules.new({"repeat": 3})
    for moves in ({-1: ["K", "J"]}, {0: "pass"}, {1: "pass"}, {-1: ["Q", "K"]}):
        state = rules.apply(state, moves)
    seen, positions = turn("kuhn_poker", rules.view(state, 0), repeat=3), MatchPositions()
    now = (
        "Round 2 (of 3): you 1, the other -1.\n"
        "Your card: Q. The other's card: not shown.\nBetting: nothing yet. In the pot: 2 chips."
    )
    then = (
        "Round 1 ended so:\nYour card: K. The other's card: J.\nBetting: you pass, the other pass. In the pot: 2 chips."
    )
    assert positions.describe_turn(seen) == f"{then}\n{now}"
    assert positions.describe_turn(seen) == now


def test_after_one_s_own_move_a_seat_sees_what_it_led_to_where_nothing_is_hidden() -> None:
    assert compute_view_after(turn(view=ALMOST), 2) == {"board": "XXXOO....", "turn": 1, "winner": 0}
    for move in (0, "2", None):
        assert compute_view_after(turn(view=ALMOST), move) == ALMOST, "no move there"
    hand: dict[str, Any] = {"card": "K", "other_card": None, "betting": [], "pot": 2}
    assert compute_view_after(turn("kuhn_poker", hand), "bet") == hand
    assert compute_view_after(turn(view=7), 2) == 7
