"""The table of methods: who serves each, its request and reply, its timeout, and who may call it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from agent_league.model.agents import Role
from agent_league.protocol import v2
from agent_league.protocol.envelope import Message


class Caller(StrEnum):
    """Who may call a method."""

    ANYBODY = "anybody"
    APPLICANT = "an agent that registers"
    AGENT = "a registered player or referee, with its own token"
    REFEREE = "a registered referee, with its own token"
    ADMIN = "the organiser, with the admin token"
    MANAGER = "the league manager"
    MATCH_REFEREE = "the referee of a match"
    MATCH_PLAYER = "a player of a match, with its own token"


@dataclass(frozen=True, slots=True)
class Method:
    """One method; `timeout_setting` names its setting in `timeouts` of system.json."""

    name: str
    served_by: frozenset[Role]
    request: type[Message] | None
    reply: type[Message] | None
    timeout_setting: str
    caller: Caller


_MANAGER = frozenset({Role.LEAGUE_MANAGER})
_REFEREE = frozenset({Role.REFEREE})
_PLAYER = frozenset({Role.PLAYER})
_BOTH = _REFEREE | _PLAYER
_ALL = _MANAGER | _BOTH

GENERIC_TIMEOUT = "generic_response_timeout_sec"
JOIN_TIMEOUT = "game_join_ack_timeout_sec"
MOVE_TIMEOUT = "move_timeout_sec"
GAME_OVER_TIMEOUT = "game_over_timeout_sec"

_TABLE: Iterable[Method] = (
    Method(
        "register_referee",
        _MANAGER,
        v2.RefereeRegisterRequest,
        v2.RefereeRegisterResponse,
        "register_referee_timeout_sec",
        Caller.APPLICANT,
    ),
    Method(
        "register_player",
        _MANAGER,
        v2.LeagueRegisterRequest,
        v2.LeagueRegisterResponse,
        "register_player_timeout_sec",
        Caller.APPLICANT,
    ),
    Method("start_league", _MANAGER, v2.StartLeague, None, GENERIC_TIMEOUT, Caller.ADMIN),
    Method("manage_league", _MANAGER, v2.ManageLeague, None, GENERIC_TIMEOUT, Caller.ADMIN),
    Method("report_match_result", _MANAGER, v2.MatchResultReport, None, GENERIC_TIMEOUT, Caller.REFEREE),
    Method("league_query", _MANAGER, v2.LeagueQuery, v2.LeagueQueryResponse, GENERIC_TIMEOUT, Caller.AGENT),
    Method("get_assigned_matches", _MANAGER, None, None, GENERIC_TIMEOUT, Caller.REFEREE),
    Method("get_standings", _MANAGER, None, None, GENERIC_TIMEOUT, Caller.ANYBODY),
    Method("create_schedule", _MANAGER, None, None, GENERIC_TIMEOUT, Caller.ANYBODY),
    Method("get_round", _MANAGER, None, None, GENERIC_TIMEOUT, Caller.ANYBODY),
    Method("get_match", _MANAGER, None, None, GENERIC_TIMEOUT, Caller.ANYBODY),
    Method("get_player", _MANAGER, None, None, GENERIC_TIMEOUT, Caller.ANYBODY),
    Method("start_match", _REFEREE, v2.StartMatch, None, GENERIC_TIMEOUT, Caller.MANAGER),
    Method("get_match_state", _REFEREE, None, None, GENERIC_TIMEOUT, Caller.ANYBODY),
    Method("register_to_league", _REFEREE, None, None, GENERIC_TIMEOUT, Caller.MANAGER),
    Method("collect_choices", _REFEREE, None, None, GENERIC_TIMEOUT, Caller.MANAGER),
    Method("draw_number", _REFEREE, None, None, GENERIC_TIMEOUT, Caller.MANAGER),
    Method("finalize_match", _REFEREE, None, None, GENERIC_TIMEOUT, Caller.MANAGER),
    Method("game_join_ack", _REFEREE, v2.GameJoinAck, None, JOIN_TIMEOUT, Caller.MATCH_PLAYER),
    Method("choose_parity_response", _REFEREE, v2.ChooseParityResponse, None, MOVE_TIMEOUT, Caller.MATCH_PLAYER),
    Method("game_move_response", _REFEREE, v2.GameMoveResponse, None, MOVE_TIMEOUT, Caller.MATCH_PLAYER),
    Method("handle_game_invitation", _PLAYER, v2.GameInvitation, v2.GameJoinAck, JOIN_TIMEOUT, Caller.MATCH_REFEREE),
    Method("choose_parity", _PLAYER, v2.ChooseParityCall, v2.ChooseParityResponse, MOVE_TIMEOUT, Caller.MATCH_REFEREE),
    Method("make_move", _PLAYER, v2.GameMoveCall, v2.GameMoveResponse, MOVE_TIMEOUT, Caller.MATCH_REFEREE),
    Method("notify_match_result", _PLAYER, v2.GameOver, None, GAME_OVER_TIMEOUT, Caller.MATCH_REFEREE),
    Method("notify_game_error", _PLAYER, v2.GameError, None, GAME_OVER_TIMEOUT, Caller.MATCH_REFEREE),
    Method("notify_round", _BOTH, v2.RoundAnnouncement, None, GENERIC_TIMEOUT, Caller.MANAGER),
    Method("update_standings", _BOTH, v2.LeagueStandingsUpdate, None, GENERIC_TIMEOUT, Caller.MANAGER),
    Method("notify_round_completed", _BOTH, v2.RoundCompleted, None, GENERIC_TIMEOUT, Caller.MANAGER),
    Method("notify_league_completed", _BOTH, v2.LeagueCompleted, None, GENERIC_TIMEOUT, Caller.MANAGER),
    Method("get_player_state", _PLAYER, None, None, GENERIC_TIMEOUT, Caller.ANYBODY),
    Method("get_rules", _ALL, None, None, GENERIC_TIMEOUT, Caller.ANYBODY),
    Method("get_protocol", _ALL, None, None, GENERIC_TIMEOUT, Caller.ANYBODY),
)

METHODS: Mapping[str, Method] = {method.name: method for method in _TABLE}


def methods_served_by(role: Role) -> tuple[Method, ...]:
    """The methods that agents of a role serve."""
    return tuple(method for method in METHODS.values() if role in method.served_by)
