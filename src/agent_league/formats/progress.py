"""How far a tournament is and what it takes to advance, in the words of its format."""

from agent_league.formats.base import DescribedFormat, Format, TournamentRecord
from agent_league.text import MAX_SENTENCE, capitalise, to_printable


def describe_progress(format_: Format, tournament: TournamentRecord) -> str:
    """Say what is played and what it takes to advance; the last round is the one in play.

    Formats of third parties may have words or not, and none of them stops a league.
    """
    try:
        words = format_.describe_progress(tournament) if isinstance(format_, DescribedFormat) else ""
    except Exception:  # noqa: BLE001 - only words are lost
        words = ""
    return to_printable(words, MAX_SENTENCE) if words else _name_round(format_, tournament)


def count_round(tournament: TournamentRecord, total: int | None) -> str:
    """Count the round in play, such as "round 3 of 7"; the rounds to come before the start, empty if there are none."""
    if not tournament.rounds:
        return f"{total} round{'' if total == 1 else 's'}" if total else ""
    number = len(tournament.rounds)
    return f"round {number} of {total}" if total else f"round {number}"


def _name_round(format_: Format, tournament: TournamentRecord) -> str:
    title = tournament.rounds[-1].title if tournament.rounds else ""
    where = title or count_round(tournament, format_.count_rounds(tournament))
    return capitalise(where or format_.name.replace("_", " "))
