"""The Swiss system: in every round players of about equal points meet, and nobody meets anybody twice.

A player who is out isn't paired any more. One who enters late has the points of the rounds it missed: none.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import ClassVar

from agent_league.formats.base import PlayerGroups, TournamentRecord, list_starters, make_round
from agent_league.formats.progress import count_round
from agent_league.formats.settings import check_whole_number
from agent_league.formats.swiss_pairing import (
    MAX_IMBALANCE,
    PlayerRecord,
    RecordPair,
    RoundDraft,
    find_imbalance,
    pair_round,
    rank_records,
)
from agent_league.model.schedule import LeagueRound

EXTRA_ROUNDS = 2
"""Rounds beyond those that a knockout of as many players has."""


@dataclass(frozen=True, slots=True)
class Swiss:
    """A Swiss tournament, of so many rounds that it can tell the first from the rest if none are given."""

    name: ClassVar[str] = "swiss"
    is_fixed: ClassVar[bool] = False
    takes_late_entries: ClassVar[bool] = True
    bye_is_win: ClassVar[bool] = True

    rounds: int | None = None

    def __post_init__(self) -> None:
        check_whole_number(self.name, "rounds", self.rounds, optional=True)

    def count_rounds(self, tournament: TournamentRecord) -> int:
        """The rounds that are set, or else ceil(log2 n) + 2 for the n players at the start, but no second meeting."""
        if self.rounds is not None:
            return self.rounds
        players = len(list_starters(tournament))
        if players < 2:
            return 0
        return min(ceil(log2(players)) + EXTRA_ROUNDS, players - 1 + players % 2)

    def next_round(self, tournament: TournamentRecord) -> LeagueRound | None:
        """Pair those who are level on points, as far as possible."""
        round_id = len(tournament.rounds) + 1
        total = self.count_rounds(tournament)
        records = collect_records(tournament)
        players = rank_records(records[entrant.player_id] for entrant in tournament.entrants if not entrant.is_out)
        if round_id > total or len(players) < 2:
            return None
        draft = pair_round(players, is_last=round_id == total)
        table = _ScoreTable(players, draft)
        pairs = [
            (*_choose_sides(pair, tournament.lot + round_id + board), table.explain_pair(pair))
            for board, pair in enumerate(draft.pairs)
        ]
        byes = {draft.bye.player_id: _explain_bye(draft.bye, players)} if draft.bye else None
        return make_round(tournament, pairs, byes=byes)

    def rank_players(self, tournament: TournamentRecord) -> PlayerGroups | None:
        return None

    def describe_progress(self, tournament: TournamentRecord) -> str:
        total = self.count_rounds(tournament)
        end = f"; the table after round {total} decides" if total else ""
        return f"Swiss {count_round(tournament, total)}".rstrip() + f": players who are level on points meet{end}"


def collect_records(tournament: TournamentRecord) -> dict[str, PlayerRecord]:
    """Add up what happened so far, for all players."""
    records = {entrant.player_id: PlayerRecord(entrant.player_id, entrant.seed) for entrant in tournament.entrants}
    for round_ in tournament.rounds:
        gained: list[tuple[PlayerRecord, int]] = []
        for pairing in round_.pairings:
            a, b = (records[player_id] for player_id in pairing.players)
            for record, other, side in ((a, b, 1), (b, a, -1)):
                record.sides.append(side)
                record.meetings[other.player_id] = record.meetings.get(other.player_id, 0) + 1
                record.floats_down += record.points > other.points
                record.floats_up += record.points < other.points
                if result := tournament.results.get(pairing.match_id):
                    gained.append((record, tournament.scoring.points_for(result, record.player_id)))
        for player_id in round_.byes:
            records[player_id].byes += 1
            gained.append((records[player_id], tournament.scoring.win_points))
        for record, points in gained:
            record.points += points
    return records


def _choose_sides(pair: RecordPair, lot: int) -> tuple[str, str]:
    """Return the ids of player A and player B: who was A less often, or was B the last time they differed, is A."""
    one, other = pair
    difference = one.side_balance - other.side_balance
    latest = (own - its for own, its in zip(reversed(one.sides), reversed(other.sides), strict=False) if own != its)
    difference = difference or next(latest, 0) or (1 if lot % 2 else -1)
    a, b = (one, other) if difference < 0 else (other, one)
    return (a.player_id, b.player_id)


class _ScoreTable:
    """The table before a round and its pairs, for telling why two players meet."""

    def __init__(self, players: Sequence[PlayerRecord], draft: RoundDraft) -> None:
        self._groups: dict[int, list[str]] = {}
        self._engaged = Counter(lower.points for upper, lower in draft.pairs if upper.points > lower.points)
        """By points: those who meet somebody with more, or have the bye."""
        if draft.bye:
            self._engaged[draft.bye.points] += 1
        self._side_balances = {player.player_id: player.side_balance for player in players}
        for player in players:
            self._groups.setdefault(player.points, []).append(player.player_id)

    def explain_pair(self, pair: RecordPair) -> str:
        """Say why these two meet."""
        upper, lower = pair
        why = self._explain_level(pair) if upper.points == lower.points else self._explain_float(pair)
        if times := upper.meetings.get(lower.player_id):
            again = "for the second time" if times == 1 else f"again, after {times} times"
            why = f"{why}; they meet {again}, as new opponents for everybody could not be found"
        return why

    def _explain_level(self, pair: RecordPair) -> str:
        points = pair[0].points
        group = self._groups[points]
        if len(group) == 2:
            return f"both have {_count_points(points)}, and nobody else has"
        one, other = (_write_ordinal(group.index(player.player_id) + 1) for player in pair)
        if len(self._groups) == 1:
            return f"all have {_count_points(points)}; by seed these are {one} and {other} of {len(group)}"
        whole = f"the {len(group)} with {_count_points(points)}"
        return f"both have {_count_points(points)}; by seed they are {one} and {other} of {whole}"

    def _explain_float(self, pair: RecordPair) -> str:
        upper, lower = pair
        points = _count_points(upper.points)
        why = self._explain_leaving(upper, points)
        between = [one for score in self._groups if lower.points < score < upper.points for one in self._groups[score]]
        if between:
            everybody = all(other in upper.meetings for other in between)
            why += ", and it has met all in between" if everybody else ", and nobody in between was left for it"
        return f"{upper.player_id} floated down from {points} to meet {lower.player_id} with {lower.points}: {why}"

    def _explain_leaving(self, floating: PlayerRecord, points: str) -> str:
        """Say why a player meets nobody of its score group."""
        others = [other for other in self._groups[floating.points] if other != floating.player_id]
        strangers = [other for other in others if other not in floating.meetings]
        if not others:
            return f"nobody else has {points}"
        if not strangers:
            return f"it has met everybody else who has {points}"
        balance = floating.side_balance
        if all(find_imbalance(balance, self._side_balances[other]) > MAX_IMBALANCE for other in strangers):
            many = len(strangers) > 1
            whom, who = (f"{len(strangers)} others", "all of them") if many else (strangers[0], "both")
            side = "A" if balance > 0 else "B"
            return f"it hasn't met {whom} there, but {who} have been player {side} too often for that"
        engaged = self._engaged[floating.points]
        if (len(others) - engaged) % 2 == 0:
            without = f", without the {engaged} with a bye or an opponent who has more" if engaged else ""
            return f"an odd number of players has {points}{without}, and it was left over"
        if len(strangers) < len(others):
            return "nobody there was left that it hadn't met"
        return "those there were needed for each other, so that as few as possible meet again or float"


def _explain_bye(bye: PlayerRecord, players: Sequence[PlayerRecord]) -> str:
    """Say why a player has no opponent."""
    fewest = min(player.byes for player in players)
    lowest = next(player for player in reversed(players) if player.byes == fewest)
    whose = "without a bye" if fewest == 0 else "of those with the fewest byes"
    why = f"odd number of players; lowest in the table {whose}"
    return why if bye is lowest else f"{why} that lets all others meet somebody new"


def _count_points(points: int) -> str:
    return "1 point" if points == 1 else f"{points} points"


def _write_ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
