"""What pages, terminal, exports and queries show of a practice ladder: table, pass marks, queue, recent matches."""

from collections.abc import Mapping
from typing import Any

from agent_league.clock import format_utc
from agent_league.league.ladder_ratings import find_likelihood_above, find_win_chance
from agent_league.league.ladder_record import LadderRecord
from agent_league.league.state import LeagueState
from agent_league.model.ladder import LadderPlayer, PlayerVersion, VersionTally, make_version_id
from agent_league.model.result_words import TERMINATION_TEXTS, describe_ending
from agent_league.model.results import Termination
from agent_league.ratings.tables import Rating

RECENT_MATCHES = 30
MIN_LIKELIHOOD, MAX_LIKELIHOOD = 0.001, 0.999
"""Nothing is told to be surer than this."""


class LadderView:
    """Reads a ladder as plain data."""

    def __init__(self, state: LeagueState, record: LadderRecord) -> None:
        self._state = state
        self._record = record

    @property
    def house_bots(self) -> list[LadderPlayer]:
        return [player for player in self._record.players.values() if player.is_house]

    def list_rows(self) -> list[dict[str, Any]]:
        """The table: each player's current version with rating, interval, pass marks and technical losses by kind."""
        return [self._make_row(row.to_json()) for row in self._state.standings()]

    def _make_row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        player_id = row["player_id"]
        player, tally = self._record.players.get(player_id), self._record.get_tally(player_id)
        rating = self._record.find_rating(player_id)
        return {
            **row,
            "version": player.current.version if player else "",
            "versions": len(player.versions) if player else 1,
            "is_house": bool(player and player.is_house),
            "rating": _rating_to_json(rating),
            "pass_marks": self.list_pass_marks(player_id),
            "technical_losses": tally.technical_losses,
            "technical": describe_technical(tally),
            "check": player.check.words if player and player.check else "",
            "has_passed": bool(player and self._record.may_meet_others(player_id)),
        }

    def list_pass_marks(self, player_id: str) -> list[dict[str, Any]]:
        """How likely a player is better than each house bot; none before both are rated."""
        own, player = self._record.find_rating(player_id), self._record.players.get(player_id)
        if own is None or player is None or player.is_house:
            return []
        marks = []
        for bot in self.house_bots:
            if other := self._record.find_rating(bot.player_id):
                name = self._state.roster[bot.player_id].agent.display_name
                likely = min(MAX_LIKELIHOOD, max(MIN_LIKELIHOOD, find_likelihood_above(own, other)))
                marks.append({"bot_id": bot.player_id, "bot": name, "likelihood": likely, **_count_wins(own, other)})
        return marks

    def list_queue(self) -> list[dict[str, Any]]:
        """Who plays and who waits for what since when; empty for a ladder that isn't running."""
        queue = self._record.queue
        entries = queue.list_entries() if queue else []
        return [entry.to_json() for entry in entries if self._state.shows_player(entry.player_id)]

    def list_requests(self) -> list[dict[str, Any]]:
        requests = self._record.requests.values()
        return [one.to_json() for one in requests if self._state.shows_match((one.player_id, one.opponent_id))]

    def list_recent(self, player_id: str | None = None) -> list[dict[str, Any]]:
        """The latest finished matches, newest first, with words for how they ended."""
        names = {one: player.display_name for one, player in self._state.roster.players().items()}
        recent: list[dict[str, Any]] = []
        for match_id, result in reversed(self._state.results.items()):
            if len(recent) >= RECENT_MATCHES:
                break
            match = self._record.matches.get(match_id)
            if match is None or (player_id and player_id not in result.players):
                continue
            recent.append(
                {
                    "match_id": match_id,
                    "players": list(result.players),
                    "versions": dict(match.versions),
                    "ended_at": match.ended_at or match.paired_at,
                    "reason": match.reason,
                    "words": describe_ending(result, names),
                }
            )
        return recent

    def list_versions(self, player_id: str) -> list[dict[str, Any]]:
        """All versions of a player that are kept, the current one first."""
        player = self._record.players.get(player_id)
        return [self._make_version(player, version) for version in reversed(player.versions)] if player else []

    def _make_version(self, player: LadderPlayer, version: PlayerVersion) -> dict[str, Any]:
        tally = self._record.get_tally(player.player_id, version.number)
        rating = self._record.ratings.get(make_version_id(player.player_id, version.number))
        shown = _rating_to_json(rating) if rating and rating.games else version.rating
        counts = {name: getattr(tally, name) for name in ("played", "wins", "draws", "losses")}
        is_current = version is player.current
        told = {"number": version.number, "version": version.version, "since": version.since, "is_current": is_current}
        return {**told, **counts, "technical": describe_technical(tally), "rating": shown}

    def describe_next_pairing(self) -> dict[str, Any]:
        """When everybody who is free is paired next; nulls for a ladder that isn't running."""
        queue = self._record.queue
        if queue is None:
            return {"next_pairing_at": None, "next_pairing_sec": None}
        return {
            "next_pairing_at": format_utc(queue.next_tick_utc),
            "next_pairing_sec": round(queue.seconds_to_next_tick),
        }

    def describe_check(self, player_id: str) -> dict[str, Any] | None:
        """How the check of a player went, with its findings; None before it."""
        player = self._record.players.get(player_id)
        if player is None or player.check is None:
            return None
        return {**player.check.to_json(), "is_passed": player.check.is_passed, "words": player.check.words}

    def to_document(self) -> dict[str, Any]:
        """The whole ladder: table, versions of all players, requests and latest matches."""
        return {
            "league_id": self._state.league_id,
            "rows": self.list_rows(),
            "versions": {
                player_id: self.list_versions(player_id)
                for player_id in self._state.roster.players()
                if self._state.shows_player(player_id)
            },
            "requests": self.list_requests(),
            "recent": self.list_recent(),
            **self.describe_next_pairing(),
        }

    def to_json(self, player_id: str) -> dict[str, Any]:
        """Where one player stands, with the whole queue."""
        rows = {row["player_id"]: row for row in self.list_rows()}
        return {
            "player": rows.get(player_id),
            "versions": self.list_versions(player_id),
            "check": self.describe_check(player_id),
            "may_meet_others": player_id in self._record.players and self._record.may_meet_others(player_id),
            "queue": self.list_queue(),
            "requests": self.list_requests(),
            **self.describe_next_pairing(),
        }


def describe_technical(tally: VersionTally) -> list[dict[str, Any]]:
    """Technical losses by kind, the most frequent first, each with its words."""
    kinds = sorted(tally.technical.items(), key=lambda one: (-one[1], one[0]))
    return [{"kind": kind, "count": count, "words": _kind_words(kind)} for kind, count in kinds if count]


def _kind_words(kind: str) -> str:
    return TERMINATION_TEXTS[Termination(kind)] if kind in set(Termination) else kind


def _rating_to_json(rating: Rating | None) -> dict[str, Any] | None:
    if rating is None:
        return None
    return {name: getattr(rating, name) for name in ("elo", "low", "high", "games")}


def _count_wins(own: Rating, other: Rating) -> dict[str, float]:
    return {"win_chance": find_win_chance(own, other)}
