"""Answers to questions about a season; read-only."""

from collections.abc import Mapping
from typing import Any

from agent_league.errors import ErrorCode, Refusal
from agent_league.league.season import Season
from agent_league.model.schedule import Pairing, Schedule


class Queries:
    """The four queries, and the two plain tools beside them."""

    def __init__(self, season: Season) -> None:
        self._season = season

    def answer(self, query_type: str, params: Mapping[str, Any], asker: str) -> dict[str, Any]:
        """Raises a Refusal where the question names somebody unknown."""
        match query_type:
            case "GET_STANDINGS":
                return self.standings()
            case "GET_SCHEDULE":
                return self.schedule()
            case "GET_NEXT_MATCH":
                return self.next_match(self._player(params, asker))
            case _:
                return self.player_stats(self._player(params, asker))

    def standings(self) -> dict[str, Any]:
        return {
            "league_id": self._season.league_id,
            "phase": str(self._season.phase),
            "round_id": self._season.current_round,
            "rounds_completed": self._season.rounds_completed,
            "standings": [row.as_dict() for row in self._season.standings()],
        }

    def schedule(self) -> dict[str, Any]:
        """The schedule; before the start, what it would be with those who are registered."""
        season = self._season
        schedule: Schedule = season.schedule if season.schedule.rounds else season.preview()
        return {
            "league_id": season.league_id,
            "total_rounds": len(schedule.rounds),
            "total_matches": len(schedule.pairings),
            "rounds": [
                {"round_id": round_.round_id, "matches": [self._pairing(p) for p in round_.pairings]}
                for round_ in schedule.rounds
            ],
        }

    def next_match(self, player_id: str) -> dict[str, Any]:
        """The player's next match without a result, or null after its last."""
        results = self._season.results
        open_ones = (
            pairing
            for pairing in self._season.schedule.pairings
            if player_id in pairing.players and pairing.match_id not in results
        )
        pairing = next(open_ones, None)
        if pairing is None:
            return {"player_id": player_id, "next_match": None}
        opponent = next(other for other in pairing.players if other != player_id)
        return {"player_id": player_id, "next_match": {**self._pairing(pairing), "opponent_id": opponent}}

    def player_stats(self, player_id: str) -> dict[str, Any]:
        member = self._season.roster.get(player_id)
        row = next(row for row in self._season.standings() if row.player_id == player_id)
        return {
            **row.as_dict(),
            "technical_losses": self._season.table.tally(player_id).technical_losses,
            "state": str(member.state) if member else None,
            "tolerated": list(self._season.tolerated().get(player_id, ())),
        }

    def _player(self, params: Mapping[str, Any], asker: str) -> str:
        player_id = params.get("player_id", asker)
        if not isinstance(player_id, str) or player_id not in self._season.roster.players():
            raise Refusal(
                ErrorCode.PLAYER_NOT_REGISTERED,
                "query_params.player_id names no registered player",
                player_id=str(player_id)[:80],
            )
        return player_id

    def _pairing(self, pairing: Pairing) -> dict[str, Any]:
        result = self._season.results.get(pairing.match_id)
        return {
            "match_id": pairing.match_id,
            "round_id": pairing.round_id,
            "game_type": self._season.league.game_type,
            "player_A_id": pairing.player_a,
            "player_B_id": pairing.player_b,
            "referee_id": self._season.assigned.get(pairing.match_id),
            "status": str(result.outcome) if result else "PENDING",
            "winner_player_id": result.winner if result else None,
        }
