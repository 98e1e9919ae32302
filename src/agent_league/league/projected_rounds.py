"""How many rounds a tournament will have, where only results decide that: played on with the first-named winning."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_league.formats.base import Format, TournamentRecord
from agent_league.formats.stages import Stages
from agent_league.league.tournament import MAX_ROUNDS
from agent_league.model.results import MatchResult, Outcome
from agent_league.model.schedule import LeagueRound


@dataclass(frozen=True, slots=True)
class LastRounds:
    """The numbers of the last round and of the first of the last stage; None if unknown."""

    last_round: int | None = None
    last_stage_round: int | None = None


MAX_PROJECTED = 200
"""Rounds of a format without a known end that are played on."""


def find_last_rounds(format_: Format, tournament: TournamentRecord) -> LastRounds:
    """Find the last round and the first of the last stage; drawn series may still add rounds."""
    if not isinstance(format_, Stages) and (total := format_.count_rounds(tournament)):
        return LastRounds(total, 1)
    rounds = project_rounds(format_, tournament)
    if not rounds:
        return LastRounds()
    last = rounds[-1]
    return LastRounds(last.round_id, next(one.round_id for one in rounds if one.stage == last.stage))


def project_rounds(format_: Format, tournament: TournamentRecord) -> Sequence[LeagueRound]:
    """Return the rounds that are known and those to come, as they would be; drawn series may add to them.

    A third party's format that fails on the way gives the rounds so far.
    """
    rounds = list(tournament.rounds)
    results = dict(tournament.results)
    most = min(MAX_ROUNDS, len(rounds) + MAX_PROJECTED)
    for round_ in rounds:
        _win_unplayed(round_, results)
    while len(rounds) < most:
        try:
            coming = format_.next_round(replace(tournament, rounds=tuple(rounds), results=results))
        except Exception:  # noqa: BLE001 - only a forecast is lost
            break
        if coming is None:
            break
        rounds.append(coming)
        _win_unplayed(coming, results)
    return rounds


def _win_unplayed(round_: LeagueRound, results: dict[str, MatchResult]) -> None:
    for pairing in round_.pairings:
        if pairing.match_id not in results:
            results[pairing.match_id] = MatchResult(
                pairing.match_id, pairing.round_id, pairing.players, Outcome.WIN, pairing.player_a
            )
