"""Answers to queries about a league, as JSON objects; read-only."""

from collections.abc import Mapping
from typing import Any

from agent_league.errors import ErrorCode, Refusal
from agent_league.league.ladder_view import LadderView
from agent_league.league.state import LeagueState
from agent_league.league.visibility import TOP_TEN_ONLY
from agent_league.model.match_view import MatchView
from agent_league.model.results import MatchResult
from agent_league.model.schedule import LeagueRound, Pairing, Schedule
from agent_league.protocol.checks import describe_value
from agent_league.text import shorten


class LeagueQueries:
    """The query types of LEAGUE_QUERY, and the plain read-only methods."""

    def __init__(self, state: LeagueState) -> None:
        self._state = state

    def answer_query(self, query_type: str, params: Mapping[str, Any], asker: str) -> dict[str, Any]:
        """Answer a LEAGUE_QUERY; raises a Refusal if it names an unknown player."""
        match query_type:
            case "GET_STANDINGS":
                return self.get_standings()
            case "GET_SCHEDULE":
                return self.get_schedule()
            case "GET_NEXT_MATCH":
                return self.get_next_match(self._require_player_id(params, asker))
            case "GET_LADDER":
                return self.get_ladder(self._require_player_id(params, asker), asker)
            case _:
                return self.get_player_stats(self._require_player_id(params, asker))

    def get_standings(self) -> dict[str, Any]:
        return {
            "league_id": self._state.league_id,
            "phase": str(self._state.phase),
            "round_id": self._state.current_round,
            "rounds_completed": self._state.rounds_completed,
            "standings": [row.to_json() for row in self._state.standings()],
        }

    def get_schedule(self) -> dict[str, Any]:
        """The schedule; before the start, a preview for the players registered now."""
        schedule = self._current_schedule()
        return {
            "league_id": self._state.league_id,
            "total_rounds": len(schedule.rounds),
            "total_matches": self._state.matches_planned or len(schedule.pairings),
            "rounds": [self._round_fields(round_) for round_ in schedule.rounds],
        }

    def describe_round(self, round_: LeagueRound) -> dict[str, Any]:
        """A round as `rounds.json` has it."""
        return {**self._round_fields(round_), "status": self.get_round_status(round_.round_id)}

    def get_round(self, round_id: int) -> dict[str, Any]:
        """One round with its matches; raises a Refusal if there is none of that number."""
        rounds = self._current_schedule().rounds
        found = next((round_ for round_ in rounds if round_.round_id == round_id), None)
        if found is None:
            expected = f"1 to {len(rounds)}" if rounds else "none before two players are registered"
            raise Refusal(
                ErrorCode.INVALID_MESSAGE_FORMAT,
                f"no round {describe_value(round_id)} in this league; expected {expected}",
                field="round_id",
                expected=expected,
                received=describe_value(round_id),
            )
        return {"league_id": self._state.league_id, **self.describe_round(found)}

    def get_round_status(self, round_id: int) -> str:
        if round_id <= self._state.rounds_completed:
            return "COMPLETED"
        return "RUNNING" if round_id <= self._state.current_round else "PENDING"

    def view_match(self, pairing: Pairing) -> MatchView:
        """Return a match of the schedule as everybody shows it."""
        state, match_id = self._state, pairing.match_id
        referee_id, result = state.assigned_referees.get(match_id), state.results.get(match_id)
        if replaced := state.replaced_matches.get(match_id):
            referee_id, result = replaced.referee_id, replaced.result
        return MatchView(state.config.game_type, pairing, referee_id, result, state.scoring, state.roster.players())

    def get_match(self, match_id: str) -> dict[str, Any]:
        """One match without its transcript; raises a Refusal if there is none of that id."""
        match = self.view_match(self._state.get_pairing(match_id))
        replaced = self._state.replaced_matches.get(match_id)
        begun = match.pairing.round_id <= self._state.current_round
        return {
            "league_id": self._state.league_id,
            "match_id": match_id,
            "round_id": match.pairing.round_id,
            "game_type": match.game_type,
            "state": "FINISHED" if match.result else "RUNNING" if begun else "PENDING",
            "referee_id": match.referee_id,
            "players": [
                {"player_id": player_id, "display_name": name, "role_in_match": role}
                for role, (player_id, name) in zip(("PLAYER_A", "PLAYER_B"), match.names.items(), strict=True)
            ],
            "result": self._result_fields(match.result) if match.result else None,
            **({"replaced_by": replaced.replaced_by} if replaced else {}),
        }

    def _result_fields(self, result: MatchResult) -> dict[str, Any]:
        return {
            "status": result.status,
            "winner_player_id": result.winner,
            "score": result.score(self._state.scoring),
            "details": dict(result.details),
            "terminations": {player_id: str(how) for player_id, how in result.terminations.items()},
            "tolerated": {}
            if self._state.hides_names
            else {player_id: list(noted) for player_id, noted in result.tolerated.items()},
        }

    def get_player(self, player_id: str) -> dict[str, Any]:
        """One player with all its matches; raises a Refusal if there is none of that id."""
        self._require_player_id({"player_id": player_id}, "", "player_id")
        pairings = (pairing for pairing in self._state.schedule.pairings if player_id in pairing.players)
        return {
            "league_id": self._state.league_id,
            **self.get_player_stats(player_id),
            "matches": [self._own_match_fields(pairing, player_id) for pairing in pairings],
        }

    def get_next_match(self, player_id: str) -> dict[str, Any]:
        """The player's next match without a result, or null if there is none."""
        results = self._state.results
        open_ones = (
            pairing
            for pairing in self._state.schedule.pairings
            if player_id in pairing.players and pairing.match_id not in results
        )
        pairing = next(open_ones, None)
        return {"player_id": player_id, "next_match": pairing and self._own_match_fields(pairing, player_id)}

    def _own_match_fields(self, pairing: Pairing, player_id: str) -> dict[str, Any]:
        match = self.view_match(pairing)
        return {**match.to_json(), "opponent_id": match.opponent_of(player_id)}

    def get_player_stats(self, player_id: str) -> dict[str, Any]:
        member = self._state.roster.get(player_id)
        row = next(row for row in self._state.standings() if row.player_id == player_id)
        return {
            **row.to_json(),
            "technical_losses": self._state.standings_table.get_tally(player_id).technical_losses,
            "state": str(member.state) if member else None,
            "tolerated": list(self._state.collect_deviations().get(player_id, ())),
        }

    def get_ladder(self, player_id: str, asker: str) -> dict[str, Any]:
        """Where a player stands on a practice ladder: rating, versions, check and the queue; findings for itself."""
        if self._state.ladder is None:
            raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, "this league is no practice ladder")
        told = LadderView(self._state, self._state.ladder).to_json(player_id)
        if told["check"] and asker != player_id:
            told["check"] = {**told["check"], "findings": []}
        return {"league_id": self._state.league_id, **told}

    def _current_schedule(self) -> Schedule:
        """The schedule, or before the start its preview."""
        return self._state.schedule if self._state.schedule.rounds else self._state.preview_schedule()

    def _require_player_id(self, params: Mapping[str, Any], asker: str, field: str = "query_params.player_id") -> str:
        player_id = params.get("player_id", asker)
        if isinstance(player_id, str) and not self._state.shows_player(player_id):
            raise Refusal(ErrorCode.PLAYER_NOT_REGISTERED, TOP_TEN_ONLY, player_id=shorten(player_id))
        if not isinstance(player_id, str) or player_id not in self._state.roster.players():
            raise Refusal(
                ErrorCode.PLAYER_NOT_REGISTERED,
                f"{field} names no registered player; ids such as P01 are in get_standings",
                player_id=shorten(player_id),
            )
        return player_id

    def _round_fields(self, round_: LeagueRound) -> dict[str, Any]:
        return {
            "round_id": round_.round_id,
            "matches": [self.view_match(pairing).to_json() for pairing in round_.pairings],
        }
