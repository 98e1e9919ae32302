"""The match files of a league that was measured: each is there and says what the league says; some are checked in full.

The transcripts also hold how long every question to a player took, so that nothing has to be measured twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from agent_league.errors import UserError
from agent_league.model.results import MatchResult
from agent_league.referee.verify import verify_match
from agent_league.storage.repositories import MatchRepository

IN_FULL = 100
"""So many files are played again from their transcripts."""


@dataclass(frozen=True, slots=True)
class Played:
    """One match in figures."""

    players: tuple[str, str]
    seconds: float
    """From its first state to its last, to the millisecond."""
    answers: tuple[float, ...]
    """Milliseconds that players took to answer."""


def read_files(home: Path, league_id: str, results: Sequence[MatchResult]) -> list[Played]:
    """Reads and checks the file of every result; ends the bench with a sentence where one is missing or wrong."""
    files = MatchRepository(league_id, home)
    played = []
    step = max(1, len(results) // IN_FULL)
    for number, result in enumerate(results):
        content = files.load(result.match_id)
        if content is None:
            raise SystemExit(f"bench: {result.match_id} has a result, but no match file")
        told = content["result"]
        if (told["status"], told["winner_player_id"]) != result.reported_outcome:
            raise SystemExit(
                f"bench: the file of {result.match_id} says {told}, the league says {result.reported_outcome}"
            )
        if number % step == 0:
            _verify(result.match_id, content)
        played.append(_figures(result, content))
    return played


def _verify(match_id: str, content: Mapping[str, Any]) -> None:
    try:
        wrong = [finding.sentence for finding in verify_match(content) if not finding.ok]
    except UserError as error:
        wrong = [str(error)]
    if wrong:
        raise SystemExit(f"bench: the file of {match_id} doesn't hold: {wrong[0]}")


def _figures(result: MatchResult, content: Mapping[str, Any]) -> Played:
    states = [datetime.fromisoformat(state["at"]) for state in content["lifecycle"]]
    answers = (line["latency_ms"] for line in content["transcript"] if line["direction"] == "received")
    return Played(result.players, (states[-1] - states[0]).total_seconds(), tuple(answers))
