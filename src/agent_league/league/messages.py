"""The manager's messages, built from the league state; `agent.dialects` adapts them to other protocols.

Frequent messages are built directly in wire form, in the order of their model's fields, without validation.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_league.agent.dialects import LeagueFacts, dialect_of
from agent_league.clock import Clock, format_utc
from agent_league.config.models import SystemConfig
from agent_league.league.match_tokens import TokenIssuer
from agent_league.league.roster import Admission, Member, RegistrationRejected
from agent_league.league.state import LeagueState
from agent_league.league.visibility import ANY_AGENT, VISITOR, hides_from_visitors, mask_rows, mask_state
from agent_league.model.agents import Role
from agent_league.model.results import MatchResult, Outcome, StandingsRow, list_champions
from agent_league.model.schedule import LeagueRound, Pairing
from agent_league.protocol import v2
from agent_league.protocol.envelope import Message
from agent_league.protocol.version import CURRENT_VERSION

MANAGER_SENDER = str(Role.LEAGUE_MANAGER)
RESPONSES: Mapping[Role, type[Message]] = {
    Role.PLAYER: v2.LeagueRegisterResponse,
    Role.REFEREE: v2.RefereeRegisterResponse,
}
"""The answers to registrations."""


class ManagerMessages:
    """Builds the manager's messages."""

    def __init__(
        self,
        state: LeagueState,
        clock: Clock,
        token_issuer: TokenIssuer,
        system: SystemConfig,
        link_port: int | None = None,
    ) -> None:
        self._link_port = link_port
        self._state = state
        self._system = system
        self._clock = clock
        self._token_issuer = token_issuer

    def build_accepted(self, role: Role, admission: Admission, conversation_id: str) -> Message:
        fields: dict[str, Any] = {
            "status": "ACCEPTED",
            f"{role}_id": admission.member.agent_id,
            "auth_token": admission.token,
            "reason": None,
            "protocol_version": CURRENT_VERSION,
            "public_key": dict(self._token_issuer.public_key),
        }
        if role is Role.PLAYER and admission.member.has_match_key:
            fields["match_key"] = self._token_issuer.get_match_key(admission.member.agent_id)
        if admission.member.link_port and self._link_port:
            fields["link_port"] = self._link_port
        fields |= dialect_of(admission.member.protocol_profile.protocol).registration_fields(self._state.league_uuid)
        return RESPONSES[role].write(**self._envelope_fields(conversation_id), **fields)

    def build_rejected(
        self, role: Role, rejection: RegistrationRejected, conversation_id: str, protocol: str
    ) -> Message:
        fields: dict[str, Any] = {
            "status": "REJECTED",
            f"{role}_id": None,
            "auth_token": None,
            "reason": str(rejection.reason),
            "detail": rejection.detail,
            **dialect_of(protocol).registration_fields(self._state.league_uuid),
        }
        return RESPONSES[role].write(**self._envelope_fields(conversation_id), **fields)

    def build_round_announcement(
        self, round_: LeagueRound, plan: Mapping[str, str], role: Role, referee_id: str | None = None
    ) -> dict[str, Any]:
        """Build the announcement of a round; only the referees' copy has the players' endpoints.

        With `referee_id`, the copy for a guest referee, which holds the tokens to start its matches by itself.
        """
        players, referees = self._state.roster.players(), self._state.roster.referees()
        matches = []
        for pairing in round_.pairings:
            if (given_to := plan.get(pairing.match_id)) is None:
                continue  # it is to be played again, and announced once it has a referee
            match = {
                "match_id": pairing.match_id,
                "game_type": self._state.config.game_type,
                "player_A_id": pairing.player_a,
                "player_B_id": pairing.player_b,
                "referee_endpoint": referees[given_to].endpoint,
            }
            if role is Role.REFEREE:
                match["player_A_endpoint"] = players[pairing.player_a].endpoint
                match["player_B_endpoint"] = players[pairing.player_b].endpoint
                match["referee_id"] = given_to
                if given_to == referee_id:
                    match["match_token"] = self._token_issuer.issue_match_tokens(pairing, referee_id).shared_token
            elif token_hash := self._state.roster.referee_token_hash(given_to):
                match["referee_token_sha256"] = token_hash
            matches.append(match)
        return v2.RoundAnnouncement.build_wire(
            **self._envelope_fields(f"conv-round-{round_.round_id}-announce"),
            round_id=round_.round_id,
            matches=matches,
        )

    def build_start_match(self, pairing: Pairing, referee_id: str) -> dict[str, Any]:
        keyed = [player_id for player_id in pairing.players if self._state.roster[player_id].has_match_key]
        match_pass = self._token_issuer.issue_match_tokens(pairing, referee_id, keyed)
        takes_links = self._state.roster[referee_id].link_port is not None
        a, b = (
            self._player_fields(player_id, match_pass.tokens_by_player[player_id], takes_links=takes_links)
            for player_id in pairing.players
        )
        league, scoring = self._state.config, self._state.scoring
        others: dict[str, Any] = {}
        if not self._state.roster[referee_id].is_ours:
            others = guest_referee_fields(referee_id, a, b)
        if hides_from_visitors(league.visibility):
            others["hides_transcript"] = True
        return v2.StartMatch.build_wire(
            **self._envelope_fields(f"conv-{pairing.match_id.lower()}-001"),
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
            match_token=match_pass.shared_token,
            scoring={name: getattr(scoring, name) for name in scoring.__slots__},
            limits=v2.MatchLimits.write(
                self._system.timeouts, self._system.retry_policy, {a["protocol"], b["protocol"]}
            ),
            league_uuid=self._state.league_uuid,
            **others,
        )

    def build_standings_update(self, round_id: int, rows: Sequence[StandingsRow]) -> dict[str, Any]:
        return v2.LeagueStandingsUpdate.build_wire(
            **self._envelope_fields(f"conv-round-{round_id}-standings"),
            round_id=round_id,
            standings=[row.to_json() for row in mask_rows(self._state, rows, ANY_AGENT)],
        )

    def build_round_completed(self, round_: LeagueRound, results: Sequence[MatchResult]) -> dict[str, Any]:
        outcomes = [result.status for result in results]
        void = [result.match_id for result in results if result.is_void]
        named: dict[str, Any] = {"void_match_ids": void} if void else {}
        return v2.RoundCompletedNotice.build_wire(
            **self._envelope_fields(f"conv-round-{round_.round_id}-complete"),
            round_id=round_.round_id,
            matches_completed=len(results),
            matches_played=len(results),
            next_round_id=self._state.schedule.next_round_id(round_.round_id),
            summary={
                "total_matches": len(results),
                "wins": outcomes.count(Outcome.WIN),
                "draws": outcomes.count(Outcome.DRAW),
                "technical_losses": outcomes.count(Outcome.TECHNICAL_LOSS),
                "void": len(void),
            },
            **named,
        )

    def build_league_completed(self, rows: Sequence[StandingsRow]) -> dict[str, Any]:
        rows = mask_rows(self._state, rows, ANY_AGENT)
        champions = list_champions(rows)
        message = v2.LeagueCompletedNotice.write(
            **self._envelope_fields("conv-league-complete"),
            total_rounds=len(self._state.schedule.rounds),
            total_matches=len(self._state.results),
            champion=champions[0],
            champions=champions,
            final_standings=[row.to_json() for row in rows],
        )
        return message.to_wire()

    def build_query_response(
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
            "league_status": str(self._state.phase),
        }
        if query_type == "GET_STANDINGS" and data is not None:
            fields["standings"] = data["standings"]
        return v2.LeagueQueryResponse.write(**self._envelope_fields(conversation_id), **fields)

    def collect_facts(self) -> LeagueFacts:
        """Collect what notices in other protocols are written from."""
        state = mask_state(self._state, ANY_AGENT)
        return LeagueFacts(
            now=self._clock.now(),
            league_uuid=state.league_uuid,
            game_type=state.config.game_type,
            rounds=state.schedule.rounds,
            current_round=state.current_round,
            player_count=len(state.roster.players()),
            result_count=len(state.results),
            champion=state.standings()[0],
            ranking=state.standings(),
            ranking_after_round=state.standings_after_round(),
        )

    def _player_fields(self, player_id: str, match_token: str, *, takes_links: bool = False) -> dict[str, Any]:
        member: Member | None = self._state.roster.get(player_id)
        if member is None or member.role is not Role.PLAYER:
            raise LookupError(player_id)
        tally = self._state.standings_table.get_tally(player_id)
        return {
            "player_id": player_id,
            "display_name": mask_state(self._state, VISITOR).roster[player_id].agent.display_name,
            "endpoint": member.agent.endpoint,
            "protocol": member.protocol_profile.protocol,
            "style": member.protocol_profile.call_form,
            "token_sha256": None if member.is_spoken_for else member.token_sha256,
            "standings": {"wins": tally.wins, "losses": tally.losses, "draws": tally.draws},
            "state": str(member.state),
            "failures_in_a_row": member.breaker.failures,
            "match_token": match_token,
            **({"addresses": list(member.agent.addresses)} if member.agent.addresses else {}),
            **({"link_port": member.link_port} if member.link_port and takes_links else {}),
            **({} if self._state.config.game_type in member.agent.game_types else {"move_method": "make_move"}),
        }

    def _envelope_fields(self, conversation_id: str) -> dict[str, Any]:
        return {
            "sender": MANAGER_SENDER,
            "timestamp": format_utc(self._clock.now()),
            "conversation_id": conversation_id,
            "league_id": self._state.league_id,
        }


def guest_referee_fields(referee_id: str, *players: Mapping[str, Any]) -> dict[str, Any]:
    """Extra fields of start_match under the names that guest referees may look for."""
    told = {"id": "player_id", "name": "display_name", "endpoint": "endpoint"}
    numbered = {
        f"player{number}_{name}": player[field]
        for number, player in enumerate(players, 1)
        for name, field in told.items()
    }
    return {"referee_id": referee_id, **numbered}
