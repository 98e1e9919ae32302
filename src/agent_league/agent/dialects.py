"""The border to other protocols: the one place that knows how an agent of `league.v1` is spoken to and understood.

Everybody else asks `dialect_of` a protocol and names no version. The dialect of our own protocol leaves everything as
it is. The messages of `league.v1` and their translation are in `protocol.v1`, its matches in `agent.match_dialects`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

from agent_league.config.models import LeagueConfig
from agent_league.model.agents import Role, id_sort_key
from agent_league.model.results import StandingsRow
from agent_league.model.schedule import LeagueRound
from agent_league.protocol import v1, v2
from agent_league.protocol.checks import check_envelope, parse_fields
from agent_league.protocol.v1.checks import check_v1_message
from agent_league.protocol.v1.envelope import UUID_PATTERN, format_millis
from agent_league.protocol.v1.ids import derive_conversation_uuid, from_v1_player_id, make_league_uuid, to_v1_player_id
from agent_league.protocol.v1.messages import calculate_win_rate
from agent_league.protocol.v1.translation import translate_registration_to_v1
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2

__all__ = [
    "DIALECTS",
    "UNNAMED_REFEREE",
    "Dialect",
    "LeagueFacts",
    "dialect_of",
    "is_foreign_message",
    "make_league_uuid",
    "name_in_address",
    "to_own_player_id",
]

UNNAMED_REFEREE = "referee"
"""The sender id of every referee in a protocol that gives them none of their own."""
MAX_ANNOUNCED_MATCHES = 5000
"""Matches in an announcement, to keep it below message size limits; a larger league names its first rounds."""
NUMBER_GAME = "even_odd"
"""The game of seed 001, to which its number range applies."""
NUMBER_RANGE = {"min_number": 0, "max_number": 99}

MessageFields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LeagueFacts:
    """What a manager's notices in other protocols are written from."""

    now: datetime
    league_uuid: str
    game_type: str
    rounds: Sequence[LeagueRound]
    current_round: int
    player_count: int
    result_count: int
    champion: StandingsRow
    ranking: Sequence[StandingsRow]
    """The table, best first."""
    ranking_after_round: Sequence[StandingsRow]
    """The same after the last complete round, without results of the next one."""


class Dialect:
    """What our own protocol asks for: everything stays as it is."""

    protocol = PROTOCOL_V2
    counted = "points"
    """What its standings count."""
    asks_by_registering = False
    """Whether its agents register again to find out whether the manager is up, as they have no query."""
    keeps_call_form = False
    """Whether its agents are only ever called in the form in which they registered."""
    needs_semantic_version = False
    names_methods = True
    """Whether its messages come in a frame with a method; else the message is the whole body."""

    def adapt_rules(
        self, league: LeagueConfig, *, explicit_parameters: Collection[str], keep_format: bool = False
    ) -> LeagueConfig:
        """The league's settings if all its players speak this protocol.

        Game parameters in `explicit_parameters` were set by the organiser and stay; `keep_format` keeps the format.
        """
        return league

    def adapt_registration(
        self, request: MessageFields, wanted_id: str, league_id: str | None, now: datetime
    ) -> MessageFields:
        """A player's registration as it is sent to a manager of this protocol."""
        return request

    def check_registration(self, message: MessageFields) -> None:
        """Check a player's registration to the letter; raises Refusal."""
        check_envelope(message, v2.LeagueRegisterRequest.TYPE)
        parse_fields(v2.LeagueRegisterRequest, message)

    def registration_fields(self, league_uuid: str) -> dict[str, Any]:
        """What the manager adds to the answer to a registration."""
        return {}

    def adapt_notice(
        self, method: str, message: MessageFields | None, collect_facts: Callable[[], LeagueFacts]
    ) -> MessageFields | None:
        """A manager's notice in this protocol; None if it has no such notice. `message` is that of our own, if any."""
        return message


class DialectV1(Dialect):
    """`league.v1` (seed 001): no tokens, no queries, few notices; its leagues are double round robins."""

    protocol = PROTOCOL_V1
    counted = "wins"
    asks_by_registering = True
    keeps_call_form = True
    needs_semantic_version = True
    names_methods = False

    def adapt_rules(
        self, league: LeagueConfig, *, explicit_parameters: Collection[str], keep_format: bool = False
    ) -> LeagueConfig:
        numbers = {name: value for name, value in NUMBER_RANGE.items() if name not in explicit_parameters}
        update: dict[str, object] = {"protocol": PROTOCOL_V1}
        if league.game_type == NUMBER_GAME:
            update["game_parameters"] = {**league.game_parameters, **numbers}
        if not keep_format:
            update["scheduling"] = league.scheduling.model_copy(
                update={"format": "double_round_robin", "settings": {}, "stages": (), "play_off": False}
            )
        return league.model_copy(update=update)

    def adapt_registration(
        self, request: MessageFields, wanted_id: str, league_id: str | None, now: datetime
    ) -> MessageFields:
        known = league_id if UUID_PATTERN.fullmatch(league_id or "") else None
        conversation_id, name = str(uuid4()), name_in_address(wanted_id)
        return translate_registration_to_v1(request, name, now, known or str(uuid4()), conversation_id).to_wire()

    def check_registration(self, message: MessageFields) -> None:
        check_v1_message(message, v1.LeagueRegisterRequest.TYPE)
        parse_fields(v1.LeagueRegisterRequest, message)

    def registration_fields(self, league_uuid: str) -> dict[str, Any]:
        return {"league_uuid": league_uuid}

    def adapt_notice(
        self, method: str, message: MessageFields | None, collect_facts: Callable[[], LeagueFacts]
    ) -> MessageFields | None:
        if method == v1.LeagueStartAnnouncement.TYPE:
            return _write_league_start(collect_facts())
        if method == "notify_round_completed" and message:
            return _write_round_complete(collect_facts(), message["round_id"])
        return _write_league_complete(collect_facts()) if method == "notify_league_completed" else None


DIALECTS: Mapping[str, Dialect] = {dialect.protocol: dialect for dialect in (Dialect(), DialectV1())}


def dialect_of(protocol: str) -> Dialect:
    """The dialect of a protocol; an unknown one counts as our own."""
    return DIALECTS.get(protocol) or DIALECTS[PROTOCOL_V2]


def name_in_address(wanted_id: str) -> str:
    """The last part of a player's address in protocols that name it there, made from the id it asks for."""
    return to_v1_player_id(wanted_id)


def to_own_player_id(player_id: str) -> str:
    """A player's id as our own protocol writes it."""
    return from_v1_player_id(player_id)


def is_foreign_message(message: MessageFields) -> bool:
    """Whether a message is one of `league.v1`: it says so and its conversation id is a UUID."""
    is_uuid = UUID_PATTERN.fullmatch(str(message.get("conversation_id"))) is not None
    return message.get("protocol") == PROTOCOL_V1 and is_uuid


def _write_league_start(facts: LeagueFacts) -> MessageFields:
    info = {
        "total_rounds": len(facts.rounds),
        "total_players": facts.player_count,
        "game_type": facts.game_type,
        "schedule": [_write_round_schedule(round_) for round_ in _select_fitting_rounds(facts.rounds)],
    }
    return _write_notice(
        v1.LeagueStartAnnouncement, facts, "league-start", max(1, facts.current_round), league_info=info
    )


def _write_round_complete(facts: LeagueFacts, round_id: int) -> MessageFields:
    played = next(len(round_.pairings) for round_ in facts.rounds if round_.round_id == round_id)
    summary = {"matches_played": played, "standings": _write_ranking(facts.ranking_after_round)}
    return _write_notice(v1.RoundComplete, facts, f"round-{round_id}-complete", round_id, round_summary=summary)


def _write_league_complete(facts: LeagueFacts) -> MessageFields:
    best = facts.champion
    final = {
        "total_rounds": len(facts.rounds),
        "total_matches": facts.result_count,
        "champion": {
            "player_id": to_v1_player_id(best.player_id),
            "display_name": best.display_name,
            "wins": best.wins,
            "losses": best.losses,
            "win_rate": calculate_win_rate(best.wins, best.played),
        },
        "rankings": _write_ranking(facts.ranking),
    }
    return _write_notice(v1.LeagueComplete, facts, "league-complete", len(facts.rounds), final_standings=final)


def _write_notice(
    kind: type[v1.V1Message], facts: LeagueFacts, conversation: str, round_id: int, **own: Any
) -> MessageFields:
    return kind.write(
        league_id=facts.league_uuid,
        round_id=round_id,
        conversation_id=derive_conversation_uuid(f"{facts.league_uuid}/{conversation}"),
        sender=str(Role.LEAGUE_MANAGER),
        timestamp=format_millis(facts.now),
        **own,
    ).to_wire()


def _select_fitting_rounds(rounds: Sequence[LeagueRound]) -> list[LeagueRound]:
    chosen: list[LeagueRound] = []
    matches = 0
    for round_ in rounds:
        matches += len(round_.pairings)
        if chosen and matches > MAX_ANNOUNCED_MATCHES:
            break
        chosen.append(round_)
    return chosen


def _write_round_schedule(round_: LeagueRound) -> dict[str, Any]:
    matches = [
        {
            "match_id": pairing.match_id,
            "player1": to_v1_player_id(pairing.player_a),
            "player2": to_v1_player_id(pairing.player_b),
        }
        for pairing in round_.pairings
    ]
    return {"round_id": round_.round_id, "matches": matches}


def _write_ranking(rows: Sequence[StandingsRow]) -> list[dict[str, Any]]:
    return [
        {"rank": row.shared_rank, "player_id": to_v1_player_id(row.player_id), "wins": row.wins, "losses": row.losses}
        for row in sorted(rows, key=lambda row: (row.shared_rank, id_sort_key(row.player_id)))
    ]
