"""A tournament as a league has it after a restart: from its store, with mappings in another order and other hashes.

Sets of texts are in another order in every process. A format that goes by it pairs otherwise after a restart, which no
test within one process shows; ids with hashes of their own do.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from agent_league.formats.base import PlayerGroups, TournamentRecord
from agent_league.model.results import MatchResult
from agent_league.model.schedule import LeagueRound, Pairing


class RehashedId(str):
    """A player's id as in another process: the same text with another hash."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash((RehashedId.__name__, *self))


def rehash_tournament(tournament: TournamentRecord) -> TournamentRecord:
    """Give all players of a tournament ids with other hashes."""
    return replace(
        tournament,
        entrants=[replace(entrant, player_id=RehashedId(entrant.player_id)) for entrant in tournament.entrants],
        rounds=[_rehash_round(round_) for round_ in tournament.rounds],
        results={match_id: _rehash_result(result) for match_id, result in tournament.results.items()},
    )


def store_round(round_: LeagueRound) -> LeagueRound:
    """Return a round as it comes back from JSON."""
    row = json.loads(json.dumps(asdict(round_)))
    pairings = tuple(Pairing(**pairing) for pairing in row.pop("pairings"))
    return LeagueRound(pairings=pairings, **row)


def store_result(pairing: Pairing, result: MatchResult) -> MatchResult:
    """Return a result as it comes back from JSON."""
    return MatchResult.from_json(pairing, json.loads(json.dumps(result.to_json())))


def copy_ranks(ranks: PlayerGroups | None) -> list[list[str]] | None:
    return None if ranks is None else [[str(player_id) for player_id in group] for group in ranks]


def reverse_mapping(mapping: Mapping[str, Any]) -> dict[str, Any]:
    return dict(reversed(list(mapping.items())))


def _rehash_round(round_: LeagueRound) -> LeagueRound:
    pairings = tuple(
        replace(pairing, player_a=RehashedId(pairing.player_a), player_b=RehashedId(pairing.player_b))
        for pairing in round_.pairings
    )
    absent = None if round_.absent is None else tuple(map(RehashedId, round_.absent))
    return replace(round_, pairings=pairings, byes=_rehash_keys(round_.byes), absent=absent)


def _rehash_result(result: MatchResult) -> MatchResult:
    one, other = (RehashedId(player_id) for player_id in result.players)
    winner = None if result.winner is None else RehashedId(result.winner)
    return replace(result, players=(one, other), winner=winner, terminations=_rehash_keys(result.terminations))


def _rehash_keys(mapping: Mapping[str, Any]) -> dict[str, Any]:
    return {RehashedId(player_id): value for player_id, value in mapping.items()}
