"""What a practice ladder keeps beside matches and agents: versions, sums of results, checks and requests.

Everything that must survive goes to `save_row` with the change itself. Its size depends on players and versions, not on
how many matches were played. Nothing here waits or reads a clock.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from agent_league.config.models import LadderConfig
from agent_league.ladders.base import Ladder
from agent_league.ladders.registry import load_ladder
from agent_league.model.ladder import (
    VERSION_MARK,
    CheckSummary,
    LadderMatch,
    LadderPlayer,
    OpenRequest,
    PairTally,
    PlayerVersion,
    QueueEntry,
    VersionTally,
    make_version_id,
)
from agent_league.model.results import MatchResult, Scoring
from agent_league.ratings.tables import Rating, RatingTable, ResultRow
from agent_league.storage.base import LadderRow, RemovedRow, StoredRow
from agent_league.text import MAX_WORD, shorten

RATED_VERSIONS = 2
"""Versions of a player whose results rate it and its opponents: the current one and the one before."""
KEPT_VERSIONS = 10
"""Versions of a player that are listed; older ones are forgotten."""
PAIR, TALLY, PLAYER, MATCH, REQUEST = "pair/", "tally/", "player/", "match/", "request/"
"""How the keys of rows begin."""


class RunningQueue(Protocol):
    """What may be asked of a ladder that runs."""

    def list_entries(self) -> list[QueueEntry]:
        """Where each player stands, who plays first, then the longest waiting."""
        ...

    def request_match(self, player_id: str, opponent_id: str) -> str:
        """Let a player ask for a match; returns what comes of it as a sentence. Raises a Refusal."""
        ...

    def answer_request(self, player_id: str, asker_id: str, *, is_accepted: bool) -> str:
        """Let a player accept or decline the match that another asks it for; the same, and raises a Refusal."""
        ...

    def take_back_request(self, player_id: str, opponent_id: str) -> str:
        """Let a player take back its own request; the same, and raises a Refusal."""
        ...

    def is_playing(self, player_id: str) -> bool: ...

    @property
    def seconds_to_next_tick(self) -> float: ...

    @property
    def next_tick_utc(self) -> datetime: ...


class LadderRecord:
    """The memory of one practice ladder."""

    def __init__(self, config: LadderConfig, save_row: Callable[[StoredRow], None]) -> None:
        """Raises ConfigError if the league file asks for a ladder that isn't there."""
        self.config = config
        self.ladder: Ladder = load_ladder(config.pairing, config.settings)
        self.players: dict[str, LadderPlayer] = {}
        self.matches: dict[str, LadderMatch] = {}
        """By match id, of the matches that are kept."""
        self.requests: dict[tuple[str, str], OpenRequest] = {}
        self.ratings: Mapping[str, Rating] = {}
        """The last ratings, by version id."""
        self.rating_table = RatingTable((), 0)
        """The same of the current versions, by their players' ids."""
        self.results_counted = 0
        """Grows with every result and version, so that ratings are known to be old."""
        self._tallies: dict[str, VersionTally] = {}
        self._pairs: dict[tuple[str, str], PairTally] = {}
        self._save_row = save_row
        self.checks_players = config.check
        """Whether players are checked; a manager that has no checker sets it to False."""
        self.queue: RunningQueue | None = None
        """Who waits and who plays; None unless a manager runs the ladder."""

    def restore_rows(self, rows: Iterable[LadderRow]) -> None:
        """Load what an earlier manager saved."""
        for row in rows:
            kind, _, key = row.key.partition("/")
            match f"{kind}/":
                case "pair/":
                    one, _, other = key.partition("/")
                    self._pairs[one, other] = PairTally(**row.value)
                case "tally/":
                    self._tallies[key] = VersionTally(**row.value)
                case "player/":
                    self.players[key] = LadderPlayer.from_json(key, row.value)
                case "match/":
                    self.matches[key] = LadderMatch(**row.value)
                case "request/":
                    request = OpenRequest(**row.value)
                    self.requests[request.player_id, request.opponent_id] = request
        self.results_counted += 1

    def note_player(self, player_id: str, version: str, at: str, *, is_house: bool = False) -> bool:
        """Add a player, or note the version it has come back with; returns whether that is a new one."""
        version = shorten(version, MAX_WORD)
        player = self.players.get(player_id)
        if player is None:
            self.players[player_id] = player = LadderPlayer(player_id, [PlayerVersion(1, version, at)], is_house)
            self._save_player(player)
            return False
        if player.current.version == version:
            return False
        known = next((one for one in player.versions[-RATED_VERSIONS:] if one.version == version), None)
        if known is not None:
            player.versions.remove(known)
        else:
            known = PlayerVersion(max(one.number for one in player.versions) + 1, version, at)
        self._keep_last_rating(player)
        player.versions.append(known)
        player.check, player.is_admitted = None, False
        self._drop_old_versions(player)
        self._save_player(player)
        self.results_counted += 1
        return True

    def note_check(self, player_id: str, summary: CheckSummary) -> None:
        """Store how the check of a player's current version went."""
        player = self.players[player_id]
        player.check = summary
        self._save_player(player)

    def admit_player(self, player_id: str) -> bool:
        """Let a player meet others on the organiser's order; returns False if it might already."""
        player = self.players[player_id]
        if player.is_admitted:
            return False
        player.is_admitted = True
        self._save_player(player)
        return True

    def may_meet_others(self, player_id: str) -> bool:
        """Whether a player may meet others than house bots."""
        player = self.players[player_id]
        has_passed = player.check is not None and player.check.is_passed
        return player.is_house or player.is_admitted or has_passed or not self.checks_players

    def begin_match(self, match_id: str, match: LadderMatch) -> None:
        self.matches[match_id] = match
        self._save_row(LadderRow(MATCH + match_id, match.to_json()))
        one, other = match.versions
        for pair in ((one, other), (other, one)):
            self.drop_request(*pair)

    def note_match_end(self, match_id: str, at: str) -> None:
        match = self.matches[match_id] = replace(self.matches[match_id], ended_at=at)
        self._save_row(LadderRow(MATCH + match_id, match.to_json()))

    def add_result(self, result: MatchResult, scoring: Scoring, step: int = 1) -> None:
        """Count a result for the versions that played; with `step` -1 take it back. A void one counts for nobody.

        One that an organiser awarded counts in the table and rates nobody. What a version that is listed no more has
        played is forgotten, and can't be taken back.
        """
        match = self.matches.get(result.match_id)
        if match is None or result.is_void:
            return
        self.results_counted += 1
        ids = [make_version_id(player_id, match.versions[player_id]) for player_id in result.players]
        for player_id, version_id in zip(result.players, ids, strict=True):
            if not self._is_listed(player_id, match.versions[player_id]):
                continue
            tally = self._tallies.setdefault(version_id, VersionTally())
            tally.add_result(result, player_id, scoring.points_for(result, player_id), step)
            self._save_row(LadderRow(TALLY + version_id, tally.to_json()))
        if set(ids) <= self._list_rated() and not result.is_awarded:
            pair = self._pairs.setdefault((ids[0], ids[1]), PairTally())
            pair.add_result(result, step)
            self._save_row(LadderRow(f"{PAIR}{ids[0]}/{ids[1]}", pair.to_json()))

    def replace_result(self, earlier: MatchResult | None, result: MatchResult, scoring: Scoring) -> None:
        """Count another result of a match in place of the earlier one."""
        if earlier is not None:
            self.add_result(earlier, scoring, step=-1)
        self.add_result(result, scoring)

    def replace_match(self, result: MatchResult, match_id: str, scoring: Scoring) -> str:
        """Take a result back, because its match is played again under another id by what its players are now.

        Returns the reason of that match.
        """
        self.add_result(result, scoring, step=-1)
        old = self.matches[result.match_id]
        versions = {player_id: self.players[player_id].current.number for player_id in result.players}
        again = LadderMatch(f"{result.match_id} is played again", versions, old.paired_at, is_requested=True)
        self.matches[match_id] = again
        self._save_row(LadderRow(MATCH + match_id, again.to_json()))
        return again.reason

    def forget_match(self, match_id: str) -> None:
        """Keep a finished match only in the sums."""
        if self.matches.pop(match_id, None):
            self._save_row(RemovedRow(LadderRow, MATCH + match_id))

    def note_asked(self, player_id: str, times: Sequence[str]) -> None:
        """Store when a player has asked for matches of late."""
        player = self.players[player_id]
        player.asked_at = [*times]
        self._save_player(player)

    def note_declined(self, request: OpenRequest, at: str) -> None:
        """Store for the player that asked that the other has declined."""
        player = self.players[request.player_id]
        player.declined_by[request.opponent_id] = at
        self._save_player(player)

    def forget_declined(self, player_id: str, opponent_id: str) -> None:
        player = self.players[player_id]
        if player.declined_by.pop(opponent_id, None):
            self._save_player(player)

    def add_request(self, request: OpenRequest) -> None:
        self.requests[request.player_id, request.opponent_id] = request
        self._save_row(LadderRow(_request_key(request.player_id, request.opponent_id), request.to_json()))

    def drop_request(self, player_id: str, opponent_id: str) -> None:
        if self.requests.pop((player_id, opponent_id), None):
            self._save_row(RemovedRow(LadderRow, _request_key(player_id, opponent_id)))

    def get_tally(self, player_id: str, number: int | None = None) -> VersionTally:
        """The results of a player's version, by default of the current one."""
        player = self.players.get(player_id)
        if player is None:
            return VersionTally()
        return self._tallies.get(make_version_id(player_id, number or player.current.number), VersionTally())

    def count_results(self) -> int:
        """How many results were counted, of all versions that are listed."""
        return sum(tally.played for tally in self._tallies.values()) // 2

    def find_rating(self, player_id: str) -> Rating | None:
        """The last rating of a player's current version; None before its first result is rated."""
        player = self.players.get(player_id)
        rating = self.ratings.get(player.version_id) if player else None
        return rating if rating and rating.games else None

    def guess_rating(self, player_id: str) -> float:
        """The rating to pair a player by: of its current version or, as long as that has none, of the one before."""
        player = self.players[player_id]
        for version in reversed(player.versions[-RATED_VERSIONS:]):
            rating = self.ratings.get(make_version_id(player_id, version.number))
            if rating and rating.games:
                return rating.elo
        return 0.0

    def count_recent_meetings(self) -> Counter[tuple[str, str]]:
        """How often two players met in the matches that are kept; their ids in alphabetical order."""
        return Counter((min(match.versions), max(match.versions)) for match in self.matches.values())

    def set_ratings(self, ratings: Mapping[str, Rating], table: RatingTable) -> None:
        """Take over new ratings, by version id, and the table of the current versions."""
        self.ratings, self.rating_table = ratings, table

    def list_result_rows(self) -> list[ResultRow]:
        """The sums of all results that rate versions."""
        return [row for (one, other), tally in self._pairs.items() for row in _make_rows(one, other, tally)]

    def list_version_ids(self) -> list[str]:
        """The versions that are rated, the current ones first."""
        return [*(player.version_id for player in self.players.values()), *sorted(self._list_earlier())]

    def list_pairs(self) -> Mapping[tuple[str, str], PairTally]:
        """The sums by the two versions, the first seat's first."""
        return self._pairs

    def _is_listed(self, player_id: str, number: int) -> bool:
        return any(version.number == number for version in self.players[player_id].versions)

    def _list_rated(self) -> set[str]:
        return set(self.list_version_ids())

    def _list_earlier(self) -> Iterator[str]:
        for player in self.players.values():
            for version in player.versions[-RATED_VERSIONS:-1]:
                yield make_version_id(player.player_id, version.number)

    def _keep_last_rating(self, player: LadderPlayer) -> None:
        if rating := self.find_rating(player.player_id):
            player.current.rating = {name: getattr(rating, name) for name in ("elo", "low", "high", "games")}

    def _drop_old_versions(self, player: LadderPlayer) -> None:
        """Drop the pairs of versions that are rated no more, and all of those that are listed no more."""
        for version in player.versions[:-KEPT_VERSIONS]:
            player.versions.remove(version)
            version_id = make_version_id(player.player_id, version.number)
            if self._tallies.pop(version_id, None):
                self._save_row(RemovedRow(LadderRow, TALLY + version_id))
        old = {make_version_id(player.player_id, one.number) for one in player.versions[:-RATED_VERSIONS]}
        for pair in [pair for pair in self._pairs if not old.isdisjoint(pair)]:
            del self._pairs[pair]
            self._save_row(RemovedRow(LadderRow, f"{PAIR}{pair[0]}/{pair[1]}"))

    def _save_player(self, player: LadderPlayer) -> None:
        self._save_row(LadderRow(PLAYER + player.player_id, player.to_json()))


def _request_key(player_id: str, opponent_id: str) -> str:
    return f"{REQUEST}{player_id}/{opponent_id}"


def _make_rows(one: str, other: str, tally: PairTally) -> Sequence[ResultRow]:
    counted: tuple[tuple[float, int, bool], ...] = (
        (1.0, tally.wins_a, False),
        (0.5, tally.draws, False),
        (0.0, tally.wins_b, False),
        (0.0, tally.technical_a, True),
        (1.0, tally.technical_b, True),
    )
    return [ResultRow(one, other, score, count, is_technical=tech) for score, count, tech in counted if count > 0]


def player_of_version(version_id: str) -> str:
    """The player that a version id is of."""
    return version_id.partition(VERSION_MARK)[0]
