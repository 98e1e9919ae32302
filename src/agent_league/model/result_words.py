"""Labels and sentences about results that web pages and terminal share, for every game."""

from collections.abc import Mapping
from dataclasses import dataclass

from agent_league.model.results import MatchResult, Outcome, StandingsRow, Termination


@dataclass(frozen=True, slots=True)
class Sign:
    """How a match is shown from one player's side."""

    letter: str
    kind: str
    """CSS classes."""
    word: str
    verb: str
    """Verb between the player's name and the opponent's."""
    column: str = ""
    """Column of the standings that counts it: W, D or L."""


WON = Sign("W", "win", "won", "beat", "W")
DREW = Sign("D", "draw", "drew", "drew with", "D")
LOST = Sign("L", "loss", "lost", "lost to", "L")
WON_TECHNICALLY = Sign("Wt", "win tech", "won technically", "won technically against", "W")
LOST_TECHNICALLY = Sign("Lt", "loss tech", "lost technically", "lost technically to", "L")
BROKEN_OFF = Sign("X", "void", "broken off", "had a match broken off against")
PLAYING = Sign("…", "live", "being played", "is playing")
TO_COME = Sign("·", "due", "to come", "is to meet")
SIGNS = (WON, DREW, LOST, WON_TECHNICALLY, LOST_TECHNICALLY, BROKEN_OFF, PLAYING, TO_COME)
OWN_SIGNS: Mapping[str, Sign] = {
    "WIN": WON,
    "DRAW": DREW,
    "LOSS": LOST,
    "TECHNICAL_LOSS": LOST_TECHNICALLY,
    "VOID": BROKEN_OFF,
}
"""By the outcome in a player's own history."""

ENDINGS: Mapping[Termination, str] = {
    Termination.NORMAL: "played to the end",
    Termination.DECLINED: "declined the invitation",
    Termination.JOIN_TIMEOUT: "didn't answer the invitation in time",
    Termination.MOVE_TIMEOUT: "didn't answer a question in time",
    Termination.DISCONNECTED: "couldn't be reached",
    Termination.ILLEGAL_MOVE: "gave no move that the rules allow",
    Termination.UNREADABLE_ANSWER: "gave no answer that could be read",
    Termination.SUSPENDED: "was suspended",
    Termination.BAD_TOKEN: "showed a wrong token, or none",
    Termination.REFEREE_LOST: "had its referee lost",
    Termination.VOID: "was in a match that was broken off",
}
"""How a match ended for a player, as a predicate."""


def sign_of(result: MatchResult | None, player_id: str, *, is_playing: bool = False) -> Sign:
    """Choose the label of a match for one of its players; without a result it is running or scheduled."""
    if result is None:
        return PLAYING if is_playing else TO_COME
    if result.is_void:
        return BROKEN_OFF
    if result.outcome is Outcome.DRAW:
        return DREW
    is_technical = result.outcome is Outcome.TECHNICAL_LOSS
    if result.winner == player_id:
        return WON_TECHNICALLY if is_technical else WON
    return LOST_TECHNICALLY if is_technical else LOST


def failures(result: MatchResult) -> dict[str, str]:
    """Describe the fault of each player of a technical loss, by player; empty for other outcomes."""
    if result.is_void or result.outcome is not Outcome.TECHNICAL_LOSS:
        return {}
    return {
        player_id: ENDINGS[how]
        for player_id, how in result.terminations.items()
        if how is not Termination.NORMAL and player_id in result.players
    }


def what_went_wrong(result: MatchResult, names: Mapping[str, str]) -> str:
    """Describe who failed and how, or why the match was aborted; empty for a match that ended normally."""
    if result.is_void:
        return f"broken off: {result.fault}"
    return "; ".join(f"{names.get(player_id, player_id)} {how}" for player_id, how in failures(result).items())


def ending(result: MatchResult, names: Mapping[str, str]) -> str:
    """Describe how a match ended, without a full stop; players missing in `names` are called by their ids."""
    first, second = (names.get(player_id, player_id) for player_id in result.players)
    wrong = what_went_wrong(result, names)
    if result.is_void:
        return f"{first} against {second} was {wrong}"
    if result.outcome is Outcome.DRAW:
        return f"{first} and {second} draw"
    if result.winner is None:
        return f"nobody wins: {wrong}" if wrong else "nobody wins"
    winner, loser = (first, second) if result.winner == result.players[0] else (second, first)
    return f"{winner} beats {loser}: {wrong}" if wrong else f"{winner} beats {loser}"


def champion(first: StandingsRow) -> str:
    """Describe the winner of a finished league from the first row of its standings, without a full stop."""
    return f"Champion: {first.display_name} ({first.player_id}) with {counted(first.points, 'point')}"


def counted(number: int, thing: str) -> str:
    """Format a number with its noun: `1 match`, `2 matches`."""
    return f"{number} {thing}{'' if number == 1 else 'es' if thing.endswith('ch') else 's'}"
