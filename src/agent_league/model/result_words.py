"""What became of a match in the signs and words that pages and terminals share; none of it knows a game."""

from collections.abc import Mapping
from dataclasses import dataclass

from agent_league.model.results import MatchResult, Outcome, StandingsRow, Termination


@dataclass(frozen=True, slots=True)
class Sign:
    """A result as one of its players has it."""

    letter: str
    kind: str
    """What style sheets know it by."""
    word: str
    verb: str
    """What stands between the player's name and the opponent's."""
    column: str = ""
    """Where the standings count it: W, D or L."""


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
"""By what a player remembers of its own game."""

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
"""How a match ended for a player."""


def sign_of(result: MatchResult | None, player_id: str, *, is_playing: bool = False) -> Sign:
    """What a match is to one of its players, now."""
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
    """Who is at fault for an ending that was not a normal one, and how it came."""
    if result.is_void or result.outcome is not Outcome.TECHNICAL_LOSS:
        return {}
    return {
        player_id: ENDINGS[how]
        for player_id, how in result.terminations.items()
        if how is not Termination.NORMAL and player_id in result.players
    }


def what_went_wrong(result: MatchResult, names: Mapping[str, str]) -> str:
    """Who failed and how, or why it was broken off; empty for a match that ended as the rules have it."""
    if result.is_void:
        return f"broken off: {result.fault}"
    return "; ".join(f"{names.get(player_id, player_id)} {how}" for player_id, how in failures(result).items())


def ending(result: MatchResult, names: Mapping[str, str]) -> str:
    """How a match ended, in a sentence without a full stop; who has no name is called by its id."""
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
    """Who has won a league that is over, without a full stop."""
    return f"Champion: {first.display_name} ({first.player_id}) with {counted(first.points, 'point')}"


def counted(number: int, thing: str) -> str:
    """`1 match`, `2 matches`."""
    return f"{number} {thing}{'' if number == 1 else 'es' if thing.endswith('ch') else 's'}"
