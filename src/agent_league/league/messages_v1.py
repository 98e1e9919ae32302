"""The manager's notices to players of `league.v1`, built from the league state."""

from collections.abc import Sequence
from typing import Any

from agent_league.clock import Clock
from agent_league.league.messages import MANAGER_SENDER
from agent_league.league.standings import StandingsTable
from agent_league.league.state import LeagueState
from agent_league.model.schedule import LeagueRound
from agent_league.protocol import v1
from agent_league.protocol.v1.envelope import format_millis
from agent_league.protocol.v1.ids import derive_conversation_uuid, to_v1_player_id
from agent_league.protocol.v1.messages import calculate_win_rate

MAX_ANNOUNCED_MATCHES = 5000
"""Matches in an announcement, to keep it below message size limits; a larger league names its first rounds."""


class ManagerMessagesV1:
    """Builds the manager's notices in `league.v1`."""

    def __init__(self, state: LeagueState, clock: Clock) -> None:
        self._state = state
        self._clock = clock

    def build_league_start(self) -> v1.V1Message:
        rounds = self._state.schedule.rounds
        return self._build_message(
            v1.LeagueStartAnnouncement,
            "league-start",
            max(1, self._state.current_round),
            league_info={
                "total_rounds": len(rounds),
                "total_players": len(self._state.roster.players()),
                "game_type": self._state.config.game_type,
                "schedule": [_build_round_schedule(round_) for round_ in self._select_fitting_rounds(rounds)],
            },
        )

    def build_round_complete(self, round_: LeagueRound) -> v1.V1Message:
        summary = {"matches_played": len(round_.pairings), "standings": _build_rankings(self._state.table_after_round)}
        return self._build_message(
            v1.RoundComplete, f"round-{round_.round_id}-complete", round_.round_id, round_summary=summary
        )

    def build_league_complete(self) -> v1.V1Message:
        best, rounds = self._state.standings()[0], len(self._state.schedule.rounds)
        final = {
            "total_rounds": rounds,
            "total_matches": len(self._state.results),
            "champion": {
                "player_id": to_v1_player_id(best.player_id),
                "display_name": best.display_name,
                "wins": best.wins,
                "losses": best.losses,
                "win_rate": calculate_win_rate(best.wins, best.played),
            },
            "rankings": _build_rankings(self._state.standings_table),
        }
        return self._build_message(v1.LeagueComplete, "league-complete", rounds, final_standings=final)

    @staticmethod
    def _select_fitting_rounds(rounds: Sequence[LeagueRound]) -> list[LeagueRound]:
        chosen: list[LeagueRound] = []
        for round_ in rounds:
            if (
                chosen
                and sum(len(earlier.pairings) for earlier in chosen) + len(round_.pairings) > MAX_ANNOUNCED_MATCHES
            ):
                break
            chosen.append(round_)
        return chosen

    def _build_message(self, kind: type[v1.V1Message], conversation: str, round_id: int, **own: Any) -> v1.V1Message:
        league_id = self._state.league_uuid
        return kind.write(
            league_id=league_id,
            round_id=round_id,
            conversation_id=derive_conversation_uuid(f"{league_id}/{conversation}"),
            sender=MANAGER_SENDER,
            timestamp=format_millis(self._clock.now()),
            **own,
        )


def _build_rankings(table: StandingsTable) -> list[dict[str, Any]]:
    """The ranking in wire form; players that are level share a rank."""
    return [
        {"rank": row.rank, "player_id": to_v1_player_id(row.player_id), "wins": row.wins, "losses": row.losses}
        for row in table.shared_rank_rows()
    ]


def _build_round_schedule(round_: LeagueRound) -> dict[str, Any]:
    return {
        "round_id": round_.round_id,
        "matches": [
            {
                "match_id": pairing.match_id,
                "player1": to_v1_player_id(pairing.player_a),
                "player2": to_v1_player_id(pairing.player_b),
            }
            for pairing in round_.pairings
        ],
    }
