"""Answers to queries about a league, as JSON objects; read-only."""

from collections.abc import Mapping
from typing import Any

from agent_league.errors import ErrorCode, Refusal
from agent_league.league.state import Season
from agent_league.model.results import MatchResult
from agent_league.model.schedule import Pairing, Round, Schedule
from agent_league.protocol.checks import shown


class Queries:
    """The four query types of LEAGUE_QUERY, and the plain read-only methods."""

    def __init__(self, season: Season) -> None:
        self._season = season

    def answer(self, query_type: str, params: Mapping[str, Any], asker: str) -> dict[str, Any]:
        """Answer a LEAGUE_QUERY; raises a Refusal if it names an unknown player."""
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
        """The schedule; before the start, a preview for the players registered now."""
        schedule = self._schedule()
        return {
            "league_id": self._season.league_id,
            "total_rounds": len(schedule.rounds),
            "total_matches": len(schedule.pairings),
            "rounds": [self._matches_of(round_) for round_ in schedule.rounds],
        }

    def round_in_file(self, round_: Round) -> dict[str, Any]:
        """A round as `rounds.json` has it."""
        return {**self._matches_of(round_), "status": self.round_status(round_.round_id)}

    def round(self, round_id: int) -> dict[str, Any]:
        """One round with its matches; raises a Refusal if there is none of that number."""
        rounds = self._schedule().rounds
        found = next((round_ for round_ in rounds if round_.round_id == round_id), None)
        if found is None:
            expected = f"1 to {len(rounds)}" if rounds else "none before two players are registered"
            raise Refusal(
                ErrorCode.INVALID_MESSAGE_FORMAT,
                f"no round {shown(round_id)} in this league; expected {expected}",
                field="round_id",
                expected=expected,
                received=shown(round_id),
            )
        return {
            "league_id": self._season.league_id,
            "round_id": round_id,
            "status": self.round_status(round_id),
            "matches": [self._pairing(pairing) for pairing in found.pairings],
        }

    def round_status(self, round_id: int) -> str:
        if round_id <= self._season.rounds_completed:
            return "COMPLETED"
        return "RUNNING" if round_id <= self._season.current_round else "PENDING"

    def match(self, match_id: str) -> dict[str, Any]:
        """One match without its transcript; raises a Refusal if there is none of that id."""
        season = self._season
        pairing, result = season.pairing(match_id), season.results.get(match_id)
        names = {player_id: player.display_name for player_id, player in season.roster.players().items()}
        begun = pairing.round_id <= season.current_round
        return {
            "league_id": season.league_id,
            "match_id": match_id,
            "round_id": pairing.round_id,
            "game_type": season.league.game_type,
            "state": "FINISHED" if result else "RUNNING" if begun else "PENDING",
            "referee_id": season.assigned.get(match_id),
            "players": [
                {"player_id": player_id, "display_name": names.get(player_id, player_id), "role_in_match": role}
                for role, player_id in (("PLAYER_A", pairing.player_a), ("PLAYER_B", pairing.player_b))
            ],
            "result": self._result(result) if result else None,
        }

    def _result(self, result: MatchResult) -> dict[str, Any]:
        return {
            "status": result.status,
            "winner_player_id": result.winner,
            "score": {player_id: self._season.scoring.points(result, player_id) for player_id in result.players},
            "details": dict(result.details),
            "terminations": {player_id: str(how) for player_id, how in result.terminations.items()},
            "tolerated": {player_id: list(noted) for player_id, noted in result.tolerated.items()},
        }

    def player(self, player_id: str) -> dict[str, Any]:
        """One player with all its matches; raises a Refusal if there is none of that id."""
        self._player({"player_id": player_id}, "", "player_id")
        pairings = (pairing for pairing in self._season.schedule.pairings if player_id in pairing.players)
        return {
            "league_id": self._season.league_id,
            **self.player_stats(player_id),
            "matches": [{**self._pairing(pairing), "opponent_id": _other(pairing, player_id)} for pairing in pairings],
        }

    def next_match(self, player_id: str) -> dict[str, Any]:
        """The player's next match without a result, or null if there is none."""
        results = self._season.results
        open_ones = (
            pairing
            for pairing in self._season.schedule.pairings
            if player_id in pairing.players and pairing.match_id not in results
        )
        pairing = next(open_ones, None)
        if pairing is None:
            return {"player_id": player_id, "next_match": None}
        opponent_id = _other(pairing, player_id)
        return {"player_id": player_id, "next_match": {**self._pairing(pairing), "opponent_id": opponent_id}}

    def player_stats(self, player_id: str) -> dict[str, Any]:
        member = self._season.roster.get(player_id)
        row = next(row for row in self._season.standings() if row.player_id == player_id)
        return {
            **row.as_dict(),
            "technical_losses": self._season.table.tally(player_id).technical_losses,
            "state": str(member.state) if member else None,
            "tolerated": list(self._season.tolerated().get(player_id, ())),
        }

    def _schedule(self) -> Schedule:
        """The schedule, or before the start its preview."""
        return self._season.schedule if self._season.schedule.rounds else self._season.preview()

    def _player(self, params: Mapping[str, Any], asker: str, field: str = "query_params.player_id") -> str:
        player_id = params.get("player_id", asker)
        if not isinstance(player_id, str) or player_id not in self._season.roster.players():
            raise Refusal(
                ErrorCode.PLAYER_NOT_REGISTERED,
                f"{field} names no registered player; ids such as P01 are in get_standings",
                player_id=str(player_id)[:80],
            )
        return player_id

    def _matches_of(self, round_: Round) -> dict[str, Any]:
        return {"round_id": round_.round_id, "matches": [self._pairing(pairing) for pairing in round_.pairings]}

    def _pairing(self, pairing: Pairing) -> dict[str, Any]:
        result = self._season.results.get(pairing.match_id)
        return {
            "match_id": pairing.match_id,
            "round_id": pairing.round_id,
            "game_type": self._season.league.game_type,
            "player_A_id": pairing.player_a,
            "player_B_id": pairing.player_b,
            "referee_id": self._season.assigned.get(pairing.match_id),
            "status": result.status if result else "PENDING",
            "winner_player_id": result.winner if result else None,
        }


def _other(pairing: Pairing, player_id: str) -> str:
    return pairing.player_b if player_id == pairing.player_a else pairing.player_a
