"""What became of a match, in the letters, colours and words that all pages share; none of it knows a game."""

from collections.abc import Mapping
from dataclasses import dataclass

from agent_league.model.names import printable
from agent_league.model.results import MatchResult, Outcome, Termination


@dataclass(frozen=True, slots=True)
class Sign:
    """A result as one of its players has it."""

    letter: str
    kind: str
    """What style sheets know it by."""
    word: str
    verb: str
    """What stands between the player's name and the opponent's."""


WON = Sign("W", "win", "won", "beat")
DREW = Sign("D", "draw", "drew", "drew with")
LOST = Sign("L", "loss", "lost", "lost to")
WON_TECHNICALLY = Sign("Wt", "win tech", "won technically", "won technically against")
LOST_TECHNICALLY = Sign("Lt", "loss tech", "lost technically", "lost technically to")
BROKEN_OFF = Sign("X", "void", "broken off", "had a match broken off against")
PLAYING = Sign("…", "live", "being played", "is playing")
TO_COME = Sign("·", "due", "to come", "is to meet")
SIGNS = (WON, DREW, LOST, WON_TECHNICALLY, LOST_TECHNICALLY, BROKEN_OFF, PLAYING, TO_COME)

ENDINGS: Mapping[Termination, str] = {
    Termination.NORMAL: "played to the end",
    Termination.DECLINED: "declined the invitation",
    Termination.JOIN_TIMEOUT: "didn't answer the invitation in time",
    Termination.MOVE_TIMEOUT: "didn't answer a question in time",
    Termination.DISCONNECTED: "couldn't be reached",
    Termination.ILLEGAL_MOVE: "gave no move that the rules allow",
    Termination.UNREADABLE_ANSWER: "gave no answer that could be read",
    Termination.SUSPENDED: "was suspended after too many failures in a row",
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


def told(result: MatchResult, names: Mapping[str, str]) -> str:
    """A result in a sentence."""
    if result.is_void:
        return f"Broken off: {printable(result.fault)}"
    if result.outcome is Outcome.DRAW:
        return "Draw"
    won = f"{names.get(result.winner, result.winner)} won" if result.winner else "Nobody won"
    how = "; ".join(f"{names.get(player_id, player_id)} {why}" for player_id, why in failures(result).items())
    return f"{won}: {how}" if how else won
