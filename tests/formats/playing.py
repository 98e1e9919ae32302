"""Tournaments that are played in tests, with results by rule or by chance."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from agent_league.formats.base import Entrant, Format, TournamentRecord
from agent_league.model.results import MatchResult, Outcome, Termination
from agent_league.model.schedule import LeagueRound, Pairing

Decide = Callable[[Pairing], MatchResult]


def make_entrants(players: int) -> list[Entrant]:
    return [Entrant(f"P{seed:02}", seed) for seed in range(1, players + 1)]


def win(pairing: Pairing, winner: str) -> MatchResult:
    return MatchResult(pairing.match_id, pairing.round_id, pairing.players, Outcome.WIN, winner)


def draw(pairing: Pairing) -> MatchResult:
    return MatchResult(pairing.match_id, pairing.round_id, pairing.players, Outcome.DRAW, None)


def void(pairing: Pairing) -> MatchResult:
    terminations = dict.fromkeys(pairing.players, Termination.VOID)
    ids = (pairing.match_id, pairing.round_id, pairing.players)
    return MatchResult(*ids, Outcome.TECHNICAL_LOSS, None, terminations=terminations)


def favourite_wins(pairing: Pairing) -> MatchResult:
    """The player with the lower number wins."""
    return win(pairing, min(pairing.players))


def by_chance(random: Random, draws: float = 0.2) -> Decide:
    """Decide by the difference of the players' numbers, and by chance."""

    def decide(pairing: Pairing) -> MatchResult:
        if random.random() < draws:
            return draw(pairing)
        a, b = (int(player_id[1:]) for player_id in pairing.players)
        return win(pairing, pairing.players[random.random() < 0.5 + (a - b) / (2 * (a + b))])

    return decide


def play_round(tournament: TournamentRecord, round_: LeagueRound, decide: Decide) -> TournamentRecord:
    results = {**tournament.results, **{pairing.match_id: decide(pairing) for pairing in round_.pairings}}
    return replace(tournament, rounds=(*tournament.rounds, round_), results=results)


def play_all(format_: Format, tournament: TournamentRecord, decide: Decide = favourite_wins) -> TournamentRecord:
    """Play to the end."""
    while round_ := format_.next_round(tournament):
        tournament = play_round(tournament, round_, decide)
    return tournament


def list_pairs(round_: LeagueRound | None) -> list[tuple[str, str]]:
    """The pairs of a round, each in alphabetical order."""
    assert round_ is not None
    return [(min(pairing.players), max(pairing.players)) for pairing in round_.pairings]
