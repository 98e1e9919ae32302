"""The table of methods: who serves what, with which messages, and within which limit."""

from agent_league.config.models import TimeoutConfig
from agent_league.model.agents import Role
from agent_league.protocol.envelope import Message
from agent_league.protocol.methods import METHODS, methods_served_by
from tests.protocol.examples import REQUESTS

MANAGER, REFEREE, PLAYER = "league_manager", "referee", "player"
OK = None
"""Answered with a plain status or plain data."""

EXPECTED: dict[str, tuple[set[str], str | None, str | None, float]] = {
    "register_referee": ({MANAGER}, "REFEREE_REGISTER_REQUEST", "REFEREE_REGISTER_RESPONSE", 10),
    "register_player": ({MANAGER}, "LEAGUE_REGISTER_REQUEST", "LEAGUE_REGISTER_RESPONSE", 10),
    "start_league": ({MANAGER}, "START_LEAGUE", OK, 10),
    "manage_league": ({MANAGER}, "MANAGE_LEAGUE", OK, 10),
    "report_match_result": ({MANAGER}, "MATCH_RESULT_REPORT", OK, 10),
    "request_match": ({MANAGER}, "REQUEST_MATCH", OK, 10),
    "league_query": ({MANAGER}, "LEAGUE_QUERY", "LEAGUE_QUERY_RESPONSE", 10),
    "get_assigned_matches": ({MANAGER}, None, OK, 10),
    "get_standings": ({MANAGER}, None, OK, 10),
    "get_schedule": ({MANAGER}, None, OK, 10),
    "create_schedule": ({MANAGER}, None, OK, 10),
    "get_round": ({MANAGER}, None, OK, 10),
    "get_match": ({MANAGER}, None, OK, 10),
    "get_player": ({MANAGER}, None, OK, 10),
    "start_match": ({REFEREE}, "START_MATCH", OK, 10),
    "get_match_state": ({REFEREE}, None, OK, 10),
    "handle_game_invitation": ({PLAYER}, "GAME_INVITATION", "GAME_JOIN_ACK", 5),
    "choose_parity": ({PLAYER}, "CHOOSE_PARITY_CALL", "CHOOSE_PARITY_RESPONSE", 30),
    "make_move": ({PLAYER}, "GAME_MOVE_CALL", "GAME_MOVE_RESPONSE", 30),
    "notify_match_result": ({PLAYER}, "GAME_OVER", OK, 5),
    "notify_game_error": ({PLAYER}, "GAME_ERROR", OK, 5),
    "notify_round": ({PLAYER, REFEREE}, "ROUND_ANNOUNCEMENT", OK, 10),
    "update_standings": ({PLAYER, REFEREE}, "LEAGUE_STANDINGS_UPDATE", OK, 10),
    "notify_round_completed": ({PLAYER, REFEREE}, "ROUND_COMPLETED", OK, 10),
    "notify_league_completed": ({PLAYER, REFEREE}, "LEAGUE_COMPLETED", OK, 10),
    "get_player_state": ({PLAYER}, None, OK, 10),
    "get_rules": ({MANAGER, REFEREE, PLAYER}, None, OK, 10),
    "get_protocol": ({MANAGER, REFEREE, PLAYER}, None, OK, 10),
}
STEPS = {"register_to_league", "collect_choices", "draw_number", "finalize_match"}
"""The referee's other tools of seed 000."""
PUSHED = {"game_join_ack", "choose_parity_response", "game_move_response"}
"""Answers that a player sends in calls of its own."""


def _type(message: type[Message] | None) -> str | None:
    return message.TYPE if message else None


def test_the_table_is_that_of_the_protocol() -> None:
    limits = TimeoutConfig()
    table = {
        method.name: (
            {str(role) for role in method.served_by},
            _type(method.request),
            _type(method.reply),
            getattr(limits, method.timeout_setting),
        )
        for method in METHODS.values()
        if method.name not in STEPS | PUSHED
    }
    assert table == EXPECTED


def test_answers_in_calls_of_their_own_are_taken_by_referees() -> None:
    for name in PUSHED:
        assert METHODS[name].served_by == {Role.REFEREE}
        assert METHODS[name].caller.value == "a player of a match, with its own token"


def test_the_steps_of_seed_000_answer_only_to_the_manager() -> None:
    for name in STEPS:
        assert METHODS[name].served_by == {Role.REFEREE}
        assert METHODS[name].caller.value == "the league manager"


def test_every_method_is_found_under_its_name_and_with_its_role() -> None:
    assert all(name == method.name for name, method in METHODS.items())
    for role in Role:
        assert set(methods_served_by(role)) == {method for method in METHODS.values() if role in method.served_by}


def test_the_methods_of_the_example_requests_take_those_messages() -> None:
    assert len(REQUESTS) > 15
    for example in REQUESTS:
        assert _type(METHODS[example.frame["method"]].request) == example.message_type
