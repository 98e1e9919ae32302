"""Labels and sentences about results that web pages and terminal share, for every game."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_league.model.results import MatchResult, Outcome, StandingsRow, Termination, select_champions


@dataclass(frozen=True, slots=True)
class ResultLabel:
    """How a match is shown from one player's side."""

    letter: str
    kind: str
    """CSS classes."""
    word: str
    verb: str
    """Verb between the player's name and the opponent's."""
    column: str = ""
    """Column of the standings that counts it: W, D or L."""


WON = ResultLabel("W", "win", "won", "beat", "W")
DREW = ResultLabel("D", "draw", "drew", "drew with", "D")
LOST = ResultLabel("L", "loss", "lost", "lost to", "L")
WON_TECHNICALLY = ResultLabel("Wt", "win tech", "won technically", "won technically against", "W")
LOST_TECHNICALLY = ResultLabel("Lt", "loss tech", "lost technically", "lost technically to", "L")
ABORTED = ResultLabel("X", "void", "aborted", "had a match aborted against")
RUNNING = ResultLabel("…", "live", "being played", "is playing")
SCHEDULED = ResultLabel("·", "due", "to come", "is to meet")
MAX_NAMED = 8
"""Most players that a sentence names."""
RESULT_LABELS = (WON, DREW, LOST, WON_TECHNICALLY, LOST_TECHNICALLY, ABORTED, RUNNING, SCHEDULED)
LABELS_BY_OUTCOME: Mapping[str, ResultLabel] = {
    "WIN": WON,
    "DRAW": DREW,
    "LOSS": LOST,
    "TECHNICAL_LOSS": LOST_TECHNICALLY,
    "VOID": ABORTED,
}
"""By the outcome in a player's own history."""

TERMINATION_TEXTS: Mapping[Termination, str] = {
    Termination.NORMAL: "played to the end",
    Termination.DECLINED: "declined the invitation",
    Termination.JOIN_TIMEOUT: "didn't answer the invitation in time",
    Termination.MOVE_TIMEOUT: "didn't answer a question in time",
    Termination.DISCONNECTED: "couldn't be reached",
    Termination.ILLEGAL_MOVE: "gave no move that the rules allow",
    Termination.UNREADABLE_ANSWER: "gave no answer that could be read",
    Termination.SUSPENDED: "was suspended",
    Termination.WITHDRAWN: "had withdrawn",
    Termination.BAD_TOKEN: "showed a wrong token, or none",
    Termination.REFEREE_LOST: "had its referee lost",
    Termination.VOID: "was in a match that was aborted",
    Termination.AWARDED: "had the match decided by the organiser",
}
"""How a match ended for a player, as a predicate."""


def label_result(result: MatchResult | None, player_id: str, *, is_playing: bool = False) -> ResultLabel:
    """Choose the label of a match for one of its players; without a result it is running or scheduled."""
    if result is None:
        return RUNNING if is_playing else SCHEDULED
    if result.is_void:
        return ABORTED
    if result.outcome is Outcome.DRAW:
        return DREW
    is_technical = result.outcome is Outcome.TECHNICAL_LOSS
    if result.winner == player_id:
        return WON_TECHNICALLY if is_technical else WON
    return LOST_TECHNICALLY if is_technical else LOST


def describe_failures(result: MatchResult) -> dict[str, str]:
    """Describe the fault of each player of a technical loss, by player; empty for other outcomes."""
    if result.is_void or result.outcome is not Outcome.TECHNICAL_LOSS:
        return {}
    return {
        player_id: TERMINATION_TEXTS[how]
        for player_id, how in result.terminations.items()
        if how is not Termination.NORMAL and player_id in result.players
    }


def describe_fault(result: MatchResult, names: Mapping[str, str]) -> str:
    """Describe who failed and how, or why the match was aborted; empty for a match that ended normally."""
    if result.is_void:
        return f"aborted: {result.fault}"
    return "; ".join(f"{names.get(player_id, player_id)} {how}" for player_id, how in describe_failures(result).items())


def describe_ending(result: MatchResult, names: Mapping[str, str]) -> str:
    """Describe how a match ended, without a full stop; players missing in `names` are called by their ids."""
    first, second = (names.get(player_id, player_id) for player_id in result.players)
    wrong = describe_fault(result, names)
    if result.is_void:
        return f"{first} against {second} was {wrong}"
    if result.outcome is Outcome.DRAW:
        return f"{first} and {second} draw"
    if result.winner is None:
        return f"nobody wins: {wrong}" if wrong else "nobody wins"
    winner, loser = (first, second) if result.winner == result.players[0] else (second, first)
    return f"{winner} beats {loser}: {wrong}" if wrong else f"{winner} beats {loser}"


def format_champions(rows: Sequence[StandingsRow], *, has_play_off: bool = False) -> str:
    """Describe who won a finished league, from its standings, without a full stop."""
    champions = select_champions(rows)
    named = [f"{row.display_name} ({row.player_id})" for row in champions]
    points = f"with {format_count(rows[0].points, 'point')}"
    if len(named) == 1:
        return f"Champion{' after a play-off' if has_play_off else ''}: {named[0]} {points}"
    level = points if len({row.points for row in champions}) == 1 else ""
    return f"Champions, level after all tiebreakers: {join_names(named)} {level}".rstrip()


def join_names(names: Sequence[str]) -> str:
    """List names in a sentence: `Ann, Bob and Cid`; of many, the first and how many others there are."""
    shown = list(names[:MAX_NAMED])
    rest = len(names) - len(shown)
    last = format_count(rest, "other") if rest else shown.pop()
    return f"{', '.join(shown)} and {last}" if shown else last


def format_count(number: int, thing: str) -> str:
    """Format a number with its noun: `1 match`, `2 matches`."""
    return f"{number} {thing}{'' if number == 1 else 'es' if thing.endswith('ch') else 's'}"
