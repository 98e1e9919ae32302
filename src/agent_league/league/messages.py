"""The manager's messages in `league.v2`, built from the league state.

Frequent messages are built directly in wire form, in the order of their model's fields, without validation.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_league.clock import Clock, format_utc
from agent_league.config.models import SystemConfig
from agent_league.league.match_tokens import Passes
from agent_league.league.roster import Admission, Member, Rejected
from agent_league.league.state import Season
from agent_league.model.agents import Player, Role
from agent_league.model.results import MatchResult, Outcome, StandingsRow
from agent_league.model.schedule import Pairing, Round
from agent_league.protocol import v2
from agent_league.protocol.envelope import Message
from agent_league.protocol.version import CURRENT_VERSION, PROTOCOL_V1

SENDER = str(Role.LEAGUE_MANAGER)


class ManagerWords:
    """Builds the manager's messages in `league.v2`."""

    def __init__(self, season: Season, clock: Clock, passes: Passes, system: SystemConfig) -> None:
        self._season = season
        self._system = system
        self._clock = clock
        self._passes = passes

    def accepted(self, role: Role, admission: Admission, conversation_id: str) -> Message:
        fields: dict[str, Any] = {
            "status": "ACCEPTED",
            f"{role}_id": admission.member.agent_id,
            "auth_token": admission.token,
            "reason": None,
            "protocol_version": CURRENT_VERSION,
            "public_key": dict(self._passes.public_key),
        }
        if role is Role.PLAYER and admission.member.has_match_key:
            fields["match_key"] = self._passes.match_key(admission.member.agent_id)
        if admission.member.how.protocol == PROTOCOL_V1:
            fields["league_uuid"] = self._season.league_uuid
        return self._response(role).write(**self._envelope(conversation_id), **fields)

    def rejected(self, role: Role, rejection: Rejected, conversation_id: str, protocol: str) -> Message:
        fields: dict[str, Any] = {
            "status": "REJECTED",
            f"{role}_id": None,
            "auth_token": None,
            "reason": str(rejection.reason),
            "detail": rejection.detail,
        }
        if protocol == PROTOCOL_V1:
            fields["league_uuid"] = self._season.league_uuid
        return self._response(role).write(**self._envelope(conversation_id), **fields)

    def round_announcement(
        self, round_: Round, plan: Mapping[str, str], role: Role, referee_id: str | None = None
    ) -> dict[str, Any]:
        """Build the announcement of a round; only the referees' copy has the players' endpoints.

        With `referee_id`, the copy for a guest referee, which holds the tokens to start its matches by itself.
        """
        players, referees = self._season.roster.players(), self._season.roster.referees()
        matches = []
        for pairing in round_.pairings:
            given_to = plan[pairing.match_id]
            match = {
                "match_id": pairing.match_id,
                "game_type": self._season.league.game_type,
                "player_A_id": pairing.player_a,
                "player_B_id": pairing.player_b,
                "referee_endpoint": referees[given_to].endpoint,
            }
            if role is Role.REFEREE:
                match["player_A_endpoint"] = players[pairing.player_a].endpoint
                match["player_B_endpoint"] = players[pairing.player_b].endpoint
                match["referee_id"] = given_to
                if given_to == referee_id:
                    match["match_token"] = self._passes.for_match(pairing, referee_id).shared
            elif token_hash := self._season.shown_token(given_to):
                match["referee_token_sha256"] = token_hash
            matches.append(match)
        return v2.RoundAnnouncement.wire(
            **self._envelope(f"conv-round-{round_.round_id}-announce"),
            round_id=round_.round_id,
            matches=matches,
        )

    def start_match(self, pairing: Pairing, referee_id: str) -> dict[str, Any]:
        keyed = [player_id for player_id in pairing.players if self._season.has_match_key(player_id)]
        match_pass = self._passes.for_match(pairing, referee_id, keyed)
        a, b = (self._match_player(player_id, match_pass.by_player[player_id]) for player_id in pairing.players)
        league, scoring = self._season.league, self._season.scoring
        others = {} if self._season.is_ours(referee_id) else in_words_of_others(referee_id, a, b)
        return v2.StartMatch.wire(
            **self._envelope(f"conv-{pairing.match_id.lower()}-001"),
            round_id=pairing.round_id,
            match_id=pairing.match_id,
            game_type=league.game_type,
            game_parameters=league.game_parameters,
            player_A=a,
            player_B=b,
            player_A_id=a["player_id"],
            player_A_endpoint=a["endpoint"],
            player_B_id=b["player_id"],
            player_B_endpoint=b["endpoint"],
            match_token=match_pass.shared,
            scoring={name: getattr(scoring, name) for name in scoring.__slots__},
            limits=self._limits({a["protocol"], b["protocol"]}),
            league_uuid=self._season.league_uuid,
            **others,
        )

    def standings_update(self, round_id: int, rows: Sequence[StandingsRow]) -> dict[str, Any]:
        return v2.LeagueStandingsUpdate.wire(
            **self._envelope(f"conv-round-{round_id}-standings"),
            round_id=round_id,
            standings=[row.as_dict() for row in rows],
        )

    def round_completed(self, round_: Round, results: Sequence[MatchResult]) -> dict[str, Any]:
        outcomes = [result.status for result in results]
        void = [result.match_id for result in results if result.is_void]
        named: dict[str, Any] = {"void_match_ids": void} if void else {}
        return v2.RoundCompleted.wire(
            **self._envelope(f"conv-round-{round_.round_id}-complete"),
            round_id=round_.round_id,
            matches_completed=len(results),
            matches_played=len(results),
            next_round_id=self._season.schedule.next_round_id(round_.round_id),
            summary={
                "total_matches": len(results),
                "wins": outcomes.count(Outcome.WIN),
                "draws": outcomes.count(Outcome.DRAW),
                "technical_losses": outcomes.count(Outcome.TECHNICAL_LOSS),
                "void": len(void),
            },
            **named,
        )

    def league_completed(self, rows: Sequence[StandingsRow]) -> dict[str, Any]:
        champion = rows[0]
        message = v2.LeagueCompleted.write(
            **self._envelope("conv-league-complete"),
            total_rounds=len(self._season.schedule.rounds),
            total_matches=len(self._season.results),
            champion={
                "player_id": champion.player_id,
                "display_name": champion.display_name,
                "points": champion.points,
            },
            final_standings=[row.as_dict() for row in rows],
        )
        return message.to_wire()

    def query_response(
        self,
        query_type: str,
        conversation_id: str,
        data: Mapping[str, Any] | None,
        error: Mapping[str, Any] | None,
    ) -> Message:
        fields: dict[str, Any] = {
            "query_type": query_type,
            "success": error is None,
            "data": data,
            "error": error,
            "league_status": str(self._season.phase),
        }
        if query_type == "GET_STANDINGS" and data is not None:
            fields["standings"] = data["standings"]
        return v2.LeagueQueryResponse.write(**self._envelope(conversation_id), **fields)

    def _limits(self, protocols: set[str]) -> dict[str, Any]:
        """Time limits and retries for a match; how long a player may take to join depends on its protocol."""
        timeouts, retry = self._system.timeouts, self._system.retry_policy
        v1_join = timeouts.v1_game_join_ack_timeout_sec
        return {
            "join_sec": v1_join if protocols == {PROTOCOL_V1} else timeouts.game_join_ack_timeout_sec,
            "move_sec": timeouts.move_timeout_sec,
            "attempts": retry.max_retries,
            "base_delay_sec": retry.base_delay_sec,
            **({"v1_join_sec": v1_join} if protocols > {PROTOCOL_V1} else {}),
        }

    def _match_player(self, player_id: str, match_token: str) -> dict[str, Any]:
        member: Member | None = self._season.roster.get(player_id)
        if member is None or not isinstance(member.agent, Player):
            raise LookupError(player_id)
        tally = self._season.table.tally(player_id)
        return {
            "player_id": player_id,
            "display_name": member.agent.display_name,
            "endpoint": member.agent.endpoint,
            "protocol": member.agent.protocol,
            "style": member.how.style,
            "token_sha256": member.token_sha256,
            "standings": {"wins": tally.wins, "losses": tally.losses, "draws": tally.draws},
            "state": str(member.state),
            "failures_in_a_row": member.breaker.failures,
            "match_token": match_token,
            **({} if self._season.league.game_type in member.agent.game_types else {"move_method": "make_move"}),
        }

    def _envelope(self, conversation_id: str) -> dict[str, Any]:
        return {
            "sender": SENDER,
            "timestamp": format_utc(self._clock.now()),
            "conversation_id": conversation_id,
            "league_id": self._season.league_id,
        }

    @staticmethod
    def _response(role: Role) -> type[Message]:
        return v2.LeagueRegisterResponse if role is Role.PLAYER else v2.RefereeRegisterResponse


def in_words_of_others(referee_id: str, *players: Mapping[str, Any]) -> dict[str, Any]:
    """Extra fields of start_match under the names that guest referees may look for."""
    told = {"id": "player_id", "name": "display_name", "endpoint": "endpoint"}
    numbered = {
        f"player{number}_{name}": player[field]
        for number, player in enumerate(players, 1)
        for name, field in told.items()
    }
    return {"referee_id": referee_id, **numbered}
