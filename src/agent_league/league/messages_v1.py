"""The manager's notices to players of `league.v1`, built from the league state."""

from collections.abc import Sequence
from typing import Any

from agent_league.clock import Clock
from agent_league.league.messages import SENDER
from agent_league.league.standings import Table
from agent_league.league.state import Season
from agent_league.model.schedule import Round
from agent_league.protocol import v1
from agent_league.protocol.v1.envelope import format_millis
from agent_league.protocol.v1.ids import conversation_uuid, player_id_v1
from agent_league.protocol.v1.rounds import win_rate

MOST_MATCHES = 5000
"""Matches in an announcement, to keep it below message size limits; a larger league names its first rounds."""


class ManagerWordsV1:
    """Builds the manager's notices in `league.v1`."""

    def __init__(self, season: Season, clock: Clock) -> None:
        self._season = season
        self._clock = clock

    def league_start(self) -> v1.V1Message:
        rounds = self._season.schedule.rounds
        return self._write(
            v1.LeagueStartAnnouncement,
            "league-start",
            max(1, self._season.current_round),
            league_info={
                "total_rounds": len(rounds),
                "total_players": len(self._season.roster.players()),
                "game_type": self._season.league.game_type,
                "schedule": [_scheduled(round_) for round_ in self._first(rounds)],
            },
        )

    def round_complete(self, round_: Round) -> v1.V1Message:
        summary = {"matches_played": len(round_.pairings), "standings": _rankings(self._season.table_after_round)}
        return self._write(
            v1.RoundComplete, f"round-{round_.round_id}-complete", round_.round_id, round_summary=summary
        )

    def league_complete(self) -> v1.V1Message:
        best, rounds = self._season.standings()[0], len(self._season.schedule.rounds)
        final = {
            "total_rounds": rounds,
            "total_matches": len(self._season.results),
            "champion": {
                "player_id": player_id_v1(best.player_id),
                "display_name": best.display_name,
                "wins": best.wins,
                "losses": best.losses,
                "win_rate": win_rate(best.wins, best.played),
            },
            "rankings": _rankings(self._season.table),
        }
        return self._write(v1.LeagueComplete, "league-complete", rounds, final_standings=final)

    @staticmethod
    def _first(rounds: Sequence[Round]) -> list[Round]:
        chosen: list[Round] = []
        for round_ in rounds:
            if chosen and sum(len(earlier.pairings) for earlier in chosen) + len(round_.pairings) > MOST_MATCHES:
                break
            chosen.append(round_)
        return chosen

    def _write(self, kind: type[v1.V1Message], conversation: str, round_id: int, **own: Any) -> v1.V1Message:
        league_id = self._season.league_uuid
        return kind.write(
            league_id=league_id,
            round_id=round_id,
            conversation_id=conversation_uuid(f"{league_id}/{conversation}"),
            sender=SENDER,
            timestamp=format_millis(self._clock.now()),
            **own,
        )


def _rankings(table: Table) -> list[dict[str, Any]]:
    """The ranking in wire form; players that are level share a rank."""
    return [
        {"rank": row.rank, "player_id": player_id_v1(row.player_id), "wins": row.wins, "losses": row.losses}
        for row in table.shared_rows()
    ]


def _scheduled(round_: Round) -> dict[str, Any]:
    return {
        "round_id": round_.round_id,
        "matches": [
            {
                "match_id": pairing.match_id,
                "player1": player_id_v1(pairing.player_a),
                "player2": player_id_v1(pairing.player_b),
            }
            for pairing in round_.pairings
        ],
    }
