"""The player as an agent: registration, invitations, answers, and who may say what to it."""

import ast
import asyncio
import hashlib
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent_league import players
from agent_league.config import ConfigLoader
from agent_league.errors import LeagueFailed
from agent_league.games.registry import game_types
from agent_league.http.memory import MemoryNetwork
from agent_league.model.names import CHECK_LEAGUE
from agent_league.players.app import Player
from agent_league.players.events import InvitationAnswered, LeagueJoined
from agent_league.players.strategies.random_choice import RandomChoice
from agent_league.protocol.tokens import SigningKey
from agent_league.protocol.v1.ids import derive_league_uuid
from agent_league.protocol.version import PROTOCOL_V1
from agent_league.testing.peers import ScriptedManager, always_reply, never_reply, utc_timestamp
from agent_league.testing.virtual_time import in_virtual_time
from tests.conftest import BOUND
from tests.players.chair import (
    LEAGUE,
    PLAYER,
    Chair,
    Fixed,
    chair,
    from_referee,
    game_over,
    invitation,
    move_call,
    parity_call,
    player_settings,
    schema_call,
)
from tests.protocol.examples_v1 import BASE
from tests.protocol.examples_v1 import example as v1

PACKAGE = Path(players.__file__).parent
MAY_KNOW = {
    f"agent_league.{name}"
    for name in ("players.observation", "players.deadline", "games.base", "games.repeated", "text")
}
TOKEN = "tok-p01-of-the-scripted-manager"


def imports(path: Path) -> set[str]:
    """The modules of ours that a file imports."""
    tree = ast.parse(path.read_text())
    named = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return {module for module in named | plain if module.startswith("agent_league")}


@pytest.mark.parametrize("path", sorted((PACKAGE / "strategies").glob("[a-z]*.py")), ids=lambda path: path.stem)
def test_a_strategy_knows_nothing_but_what_it_observes_the_rules_and_other_ideas(path: Path) -> None:
    others = {module for module in imports(path) if not module.startswith("agent_league.players.strategies.")}
    assert others <= MAY_KNOW


def test_sensors_decision_and_actuators_know_nothing_of_each_other() -> None:
    own = "agent_league.players."
    thinking = {"observation", "moves", "errors", "log", "metrics", "tasks", "text"}
    assert {module.removeprefix(own) for module in imports(PACKAGE / "sensors.py") if module.startswith(own)} == {
        "deadline",
        "observation",
    }
    assert {module.removeprefix(own) for module in imports(PACKAGE / "actuators.py") if module.startswith(own)} == {
        "observation"
    }
    assert {module.rpartition(".")[2] for module in imports(PACKAGE / "decision.py")} == thinking


async def test_a_player_says_who_it_is_and_takes_the_id_it_is_given(home: Path) -> None:
    given = {"status": "ACCEPTED", "player_id": "P07", "auth_token": "tok-p07-secret", "league_id": LEAGUE}
    async with chair(home, manager={"register_player": always_reply(given)}, version="2.0.1") as seat:
        (request,) = seat.manager.received_params("register_player")
        state = await seat.state()
        health = seat.player.health()
    assert request["message_type"] == "LEAGUE_REGISTER_REQUEST"
    assert request["sender"] == "player:P01"
    assert request["player_meta"] == {
        "display_name": "Agent Alpha",
        "version": "2.0.1",
        "game_types": ["even_odd"],
        "contact_endpoint": "http://localhost:8101/mcp",
        "protocol_version": "2.1.0",
        "match_tokens": True,
        "match_keys": True,
    }
    assert (state["player_id"], state["league_id"], state["state"]) == ("P07", LEAGUE, "REGISTERED")
    assert (health["role"], health["id"], health["state"]) == ("player", "P07", "REGISTERED")
    assert seat.told == [("P07", LeagueJoined(LEAGUE))]


async def test_a_player_tells_the_look_that_it_was_given_and_nothing_of_it_else(home: Path) -> None:
    given = {"status": "ACCEPTED", "player_id": "P07", "auth_token": "tok-p07-secret", "league_id": LEAGUE}
    async with chair(home, manager={"register_player": always_reply(given)}, color="#c0392b") as seat:
        (request,) = seat.manager.received_params("register_player")
    assert request["player_meta"]["color"] == "#c0392b"
    assert "avatar" not in request["player_meta"]


async def run_against(home: Path, answer: dict[str, Any]) -> None:
    network = MemoryNetwork()
    manager = ScriptedManager(scripts={"register_player": always_reply(answer)})
    network.attach(manager.endpoint, manager.answer)
    async with asyncio.timeout(BOUND):
        await Player(player_settings(home), RandomChoice(), network).run()


async def test_a_rejected_player_ends_with_the_managers_reason(home: Path) -> None:
    with pytest.raises(LeagueFailed, match="rejected the registration: League full"):
        await run_against(home, {"status": "REJECTED", "reason": "League full", "player_id": None})


@pytest.mark.parametrize("given", ["../../../evil", "/etc/evil", "a/b", "", ".hidden"])
async def test_an_id_that_would_lead_out_of_the_folder_is_not_taken(home: Path, given: str) -> None:
    with pytest.raises(LeagueFailed, match="can't name a file"):
        await run_against(home, {"status": "ACCEPTED", "player_id": given, "auth_token": "tok-x-y"})


async def test_an_invitation_is_answered_with_every_field_of_the_seeds(home: Path) -> None:
    async with chair(home) as seat:
        answer = await seat.call("handle_game_invitation", invitation())
    assert answer.pop("timestamp") == answer.pop("arrival_timestamp")
    assert answer == {
        "protocol": "league.v2",
        "message_type": "GAME_JOIN_ACK",
        "sender": "player:P01",
        "conversation_id": "conv-r1m1-001",
        "auth_token": TOKEN,
        "match_id": "R1M1",
        "player_id": "P01",
        "accept": True,
    }


async def test_an_invitation_as_short_as_seed_002_has_it_is_accepted(home: Path) -> None:
    golden = Path(__file__).parent.parent / "golden/league.v2/GAME_INVITATION.002-L203.json"
    async with chair(home) as seat:
        answer = await seat.call("handle_game_invitation", json.loads(golden.read_text()))
    assert answer["accept"] is True


async def test_an_invitation_to_a_game_it_does_not_play_is_declined(home: Path) -> None:
    async with chair(home) as seat:
        assert (await seat.call("handle_game_invitation", invitation(game_type="chess")))["accept"] is False
        assert (await seat.call("handle_game_invitation", invitation("R1M2")))["accept"] is True


async def test_a_choice_is_answered_with_every_field_of_the_seeds(home: Path) -> None:
    async with chair(home, Fixed("odd")) as seat:
        answer = await seat.call("choose_parity", parity_call(conversation_id="conv-of-another-kind"))
    assert answer.pop("timestamp").endswith("Z")
    assert answer == {
        "protocol": "league.v2",
        "message_type": "CHOOSE_PARITY_RESPONSE",
        "sender": "player:P01",
        "conversation_id": "conv-of-another-kind",
        "auth_token": TOKEN,
        "match_id": "R1M1",
        "player_id": "P01",
        "parity_choice": "odd",
    }


async def test_a_move_of_any_game_is_chosen_from_the_valid_options(home: Path) -> None:
    async with chair(home, Fixed({"to": [1, 2]})) as seat:
        call = {**move_call([{"to": [0, 0]}, {"to": [1, 2]}]), "conversation_id": "conv-nim"}
        answer = await seat.call("make_move", call)
        empty = await seat.call("make_move", move_call([]))
    assert (answer["message_type"], answer["move_data"]) == ("GAME_MOVE_RESPONSE", {"to": [1, 2]})
    assert (answer["conversation_id"], answer["match_id"]) == ("conv-nim", "R1M1")
    assert empty["error_code"] == "E002"
    assert "valid_options" in empty["message"]


NUMBERS = {"type": "integer", "minimum": 1, "maximum": 10**12}


async def test_a_move_is_chosen_from_a_schema_that_nobody_could_list(home: Path) -> None:
    strategy = Fixed(10**12)
    async with chair(home, strategy) as seat:
        answer = await seat.call("make_move", schema_call(NUMBERS))
        strategy.move = 10**12 + 1
        other = await seat.call("make_move", schema_call(NUMBERS, step=1))
    assert answer["move_data"] == 10**12
    assert strategy.seen[0].legal_moves == range(1, 10**12 + 1)
    assert other["move_data"] in range(1, 10**12 + 1)


async def test_where_moves_are_listed_a_schema_beside_them_does_not_count(home: Path) -> None:
    strategy = Fixed(2)
    async with chair(home, strategy) as seat:
        listed = await seat.call("make_move", schema_call(NUMBERS, valid_options=[1, 2]))
        await seat.call("make_move", schema_call(NUMBERS, valid_options=[], step=1))
    assert listed["move_data"] == 2
    assert [seen.legal_moves for seen in strategy.seen] == [(1, 2), range(1, 10**12 + 1)]


@pytest.mark.parametrize(
    ("request_", "code", "sentence"),
    [
        ({"move_schema": None}, "E003", "missing: move_request.valid_options"),
        ({"move_schema": {"type": "string"}}, "E002", "'move_request.move_schema' can't be turned into moves: of the"),
        ({"move_schema": {"type": "integer"}}, "E002", "can't be turned into moves: it has no minimum"),
        ({"move_schema": {"enum": []}}, "E002", "'move_request.move_schema' allows no move"),
        ({"move_schema": True}, "E002", "'move_request.move_schema': Input should be a valid dictionary"),
        ({"move_schema": {"type": "integer", "minimum": 0, "maximum": 10**18}}, "E002", "beyond 9007199254740992"),
    ],
)
async def test_a_question_without_moves_that_can_be_found_is_refused(
    home: Path, request_: dict[str, Any], code: str, sentence: str
) -> None:
    async with chair(home) as seat:
        refusal = await seat.call("make_move", schema_call(None, **request_))
    assert (refusal["message_type"], refusal["error_code"]) == ("LEAGUE_ERROR", code)
    assert sentence in refusal["message"]


async def test_a_player_of_any_game_names_all_that_are_installed_and_the_star(home: Path) -> None:
    async with chair(home, game_types=("mine", "*")) as seat:
        (request,) = seat.manager.received_params("register_player")
    others = [name for name in game_types() if name != "mine"]
    assert request["player_meta"]["game_types"] == ["mine", *others, "*"]


@pytest.mark.parametrize(
    ("own", "game_type", "accept"),
    [
        (("*",), "chess_boxing", True),
        (("*",), None, True),
        (("even_odd", "*"), "openspiel:kuhn_poker", True),
        (("even_odd",), "chess_boxing", False),
    ],
)
async def test_a_player_of_any_game_comes_to_every_match(
    home: Path, own: tuple[str, ...], game_type: str | None, accept: bool
) -> None:
    async with chair(home, game_types=own) as seat:
        answer = await seat.call("handle_game_invitation", invitation(game_type=game_type))
    assert answer["accept"] is accept


async def test_a_strategy_sees_all_that_the_question_says(home: Path) -> None:
    strategy = Fixed()
    async with chair(home, strategy) as seat:
        await seat.plays("R1M1", "P02")
        await seat.choice("R2M1", "P02")
        await seat.move([1, 2], step=3, match_id="R3M1", view={"left": 2})
    parity, move = strategy.seen[1:]
    assert (parity.game_type, parity.match_id, parity.player_id, parity.opponent_id) == (
        "even_odd",
        "R2M1",
        "P01",
        "P02",
    )
    assert parity.legal_moves == ("even", "odd")
    assert parity.round_id == 1
    assert parity.standings == {"wins": 1, "losses": 2, "draws": 3}
    assert [game.match_id for game in parity.history] == ["R1M1"]
    assert parity.opponent_moves == ["odd"]
    assert (move.game_type, move.legal_moves, move.step, move.view) == ("nim", (1, 2), 3, {"left": 2})


QUESTIONS: dict[str, dict[str, Any]] = {
    "handle_game_invitation": invitation(),
    "choose_parity": parity_call(),
    "make_move": move_call([1, 2]),
    "notify_match_result": game_over(),
    "notify_game_error": from_referee("GAME_ERROR", error_code="E001"),
}
NOTICES: dict[str, dict[str, Any]] = {
    "notify_round": {"message_type": "ROUND_ANNOUNCEMENT", "round_id": 1, "matches": []},
    "update_standings": {"message_type": "LEAGUE_STANDINGS_UPDATE", "round_id": 1, "standings": []},
    "notify_round_completed": {"message_type": "ROUND_COMPLETED", "round_id": 1},
    "notify_league_completed": {
        "message_type": "LEAGUE_COMPLETED",
        "total_rounds": 3,
        "total_matches": 6,
        "champion": {"player_id": "P01", "display_name": "Alpha", "points": 9},
        "final_standings": [],
    },
}


@pytest.mark.parametrize("method", QUESTIONS)
@pytest.mark.parametrize("sender", ["player:P02", "league_manager"])
async def test_only_a_referee_may_ask_or_tell_of_a_match(home: Path, method: str, sender: str) -> None:
    strategy = Fixed()
    async with chair(home, strategy) as seat:
        answer = await seat.call(method, {**QUESTIONS[method], "sender": sender})
        assert (await seat.state())["stats"]["played"] == 0
    assert (answer["message_type"], answer["error_code"]) == ("LEAGUE_ERROR", "E012")
    assert answer["context"]["received"] == sender
    assert strategy.seen == []


@pytest.mark.parametrize("method", NOTICES)
@pytest.mark.parametrize("sender", ["player:P02", "referee:REF01"])
async def test_only_the_manager_may_tell_of_the_league(home: Path, method: str, sender: str) -> None:
    async with chair(home) as seat:
        message = seat.manager.build_message(**NOTICES[method])
        refused = await seat.call(method, {**message, "sender": sender})
        assert refused["error_code"] == "E012"
        assert seat.player.health()["state"] == "REGISTERED"
        assert await seat.call(method, message) == {"status": "ok"}


@pytest.mark.parametrize("method", QUESTIONS)
async def test_a_message_of_another_league_is_refused_with_e008(home: Path, method: str) -> None:
    async with chair(home) as seat:
        answer = await seat.call(method, {**QUESTIONS[method], "league_id": "league_1999"})
    assert answer["error_code"] == "E008"


@pytest.mark.parametrize("method", QUESTIONS)
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ({"protocol": "league.v1"}, "E018"),
        ({"timestamp": "2025-01-15T10:15:00"}, "E021"),
        ({"match_id": 7}, "E002"),
    ],
)
async def test_a_message_that_is_not_right_is_refused_and_the_player_goes_on(
    home: Path, method: str, fault: dict[str, Any], code: str
) -> None:
    async with chair(home) as seat:
        assert (await seat.call(method, {**QUESTIONS[method], **fault}))["error_code"] == code
        assert await seat.choice() in ("even", "odd")


@pytest.mark.parametrize("method", ["handle_game_invitation", "choose_parity", "make_move"])
async def test_an_invitation_or_a_question_needs_its_whole_envelope(home: Path, method: str) -> None:
    async with chair(home) as seat:
        assert (await seat.call(method, {**QUESTIONS[method], "timestamp": None}))["error_code"] == "E003"


@pytest.mark.parametrize("method", ["handle_game_invitation", "choose_parity", "make_move", "notify_match_result"])
@in_virtual_time
async def test_a_player_that_is_not_registered_says_so_rather_than_hang(home: Path, method: str) -> None:
    async with chair(home, manager={"register_player": never_reply}, registered=False) as seat:
        answer = await seat.call(method, QUESTIONS[method], limit=5)
        assert (answer["error_code"], answer["retryable"]) == ("E016", False)
        assert (await seat.state())["state"] == "INIT"


@in_virtual_time
async def test_a_call_that_overtakes_the_registrations_answer_is_answered_after_it(home: Path) -> None:
    async def late(_: Any) -> Any:
        await asyncio.sleep(1)
        return {"status": "ACCEPTED", "player_id": "P05", "auth_token": "tok-p05-x", "league_id": LEAGUE}

    async with chair(home, manager={"register_player": late}, registered=False) as seat:
        answer = await seat.call("handle_game_invitation", invitation(), limit=5)
    assert (answer["player_id"], answer["accept"]) == ("P05", True)


KEY, STRANGER = SigningKey.generate(), SigningKey.generate()


def match_token(key: SigningKey = KEY, **changes: Any) -> str:
    """What the manager signs for the referee of R1M1 to show P01."""
    claims: dict[str, Any] = {
        "league_id": LEAGUE,
        "match_id": "R1M1",
        "referee_id": "REF01",
        "players": ("P01", "P02"),
        "audience": ["P01"],
        "now": datetime.now(UTC),
        "lifetime": 60,
    }
    return key.sign_match_token(**{**claims, **changes})


def manager_token(key: SigningKey = KEY, **changes: Any) -> str:
    claims: dict[str, Any] = {"league_id": LEAGUE, "audience": "P01", "now": datetime.now(UTC), "lifetime": 60}
    return key.sign_manager_token(**{**claims, **changes})


LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
FORGED_MATCH: dict[str, str | None] = {
    "nothing": None,
    "a word": "tok-match-token",
    "the player's own league token": TOKEN,
    "the opponent's own match token": match_token(audience=["P02"]),
    "a token of another match": match_token(match_id="R2M1"),
    "a token of another league": match_token(league_id="league_1999"),
    "a token of another referee": match_token(referee_id="REF02"),
    "a token of another manager": match_token(STRANGER),
    "a token that has expired": match_token(now=LONG_AGO),
    "the manager's own token": manager_token(),
}
FORGED_MANAGER: dict[str, str | None] = {
    "nothing": None,
    "a word": "league_manager",
    "a match token": match_token(),
    "a token for another agent": manager_token(audience="P02"),
    "a token of another league": manager_token(league_id="league_1999"),
    "a token of another manager": manager_token(STRANGER),
    "a token that has expired": manager_token(now=LONG_AGO),
}


async def signing(params: Any) -> Any:
    """A manager whose calls and referees can be told from others'."""
    accepted = {"status": "ACCEPTED", "player_id": "P01", "auth_token": TOKEN, "league_id": LEAGUE}
    return {**accepted, "timestamp": utc_timestamp(), "public_key": KEY.public_jwk}


SIGNED = {"register_player": signing}


@pytest.mark.parametrize("beside", [False, True], ids=["in the message", "as bearer"])
@pytest.mark.parametrize("forgery", FORGED_MATCH)
async def test_whoever_the_manager_does_not_vouch_for_learns_and_changes_nothing(
    home: Path, forgery: str, beside: bool
) -> None:
    strategy, token = Fixed(), FORGED_MATCH[forgery]
    async with chair(home, strategy, manager=SIGNED) as seat:
        for method, question in QUESTIONS.items():
            message = {**question, "auth_token": None if beside else token}
            answer = await seat.call(method, message, bearer=token if beside else None)
            assert (answer["message_type"], answer["error_code"]) == (
                "LEAGUE_ERROR",
                "E011" if token is None else "E012",
            )
            assert token is None or token not in json.dumps(answer)
        assert (await seat.state())["stats"]["played"] == 0
        assert seat.player.health()["state"] == "REGISTERED"
    assert strategy.seen == []


@pytest.mark.parametrize("beside", [False, True], ids=["in the message", "as bearer"])
async def test_the_referee_that_the_manager_vouches_for_is_answered(home: Path, beside: bool) -> None:
    async with chair(home, manager=SIGNED) as seat:
        token = match_token()
        for method, question in QUESTIONS.items():
            message = {**question, "auth_token": None if beside else token}
            answer = await seat.call(method, message, bearer=token if beside else None)
            assert "error_code" not in answer
        assert (await seat.state())["stats"]["played"] == 1


@pytest.mark.parametrize("forgery", FORGED_MANAGER)
async def test_a_notice_that_the_manager_did_not_sign_changes_nothing(home: Path, forgery: str) -> None:
    token = FORGED_MANAGER[forgery]
    async with chair(home, manager=SIGNED) as seat:
        for method, notice in NOTICES.items():
            for more in ({}, {"auth_token": manager_token()}):  # only what comes beside the message counts
                message = {**seat.manager.build_message(**notice), **more}
                answer = await seat.call(method, message, bearer=token)
                assert answer["error_code"] == ("E011" if token is None else "E012")
        assert seat.player.health()["state"] == "REGISTERED"


async def test_a_notice_that_the_manager_signed_is_taken(home: Path) -> None:
    async with chair(home, manager=SIGNED) as seat:
        for method, notice in NOTICES.items():
            answer = await seat.call(method, seat.manager.build_message(**notice), bearer=manager_token())
            assert answer == {"status": "ok"}
        assert seat.player.health()["state"] == "SHUTDOWN"


@pytest.mark.parametrize("registered", [True, False])
@in_virtual_time
async def test_a_practice_player_answers_anybody_also_before_its_registration(home: Path, registered: bool) -> None:
    system = ConfigLoader(home, {}).load_system().without_caller_checks()
    manager = SIGNED if registered else {"register_player": never_reply}
    async with chair(home, manager=manager, registered=registered, system=system) as seat:
        for method, question in QUESTIONS.items():
            assert "error_code" not in await seat.call(method, {**question, "auth_token": None}, limit=1)
        assert asyncio.get_running_loop().time() == 0
        assert seat.player.health()["state"] == "ACTIVE"


async def test_a_player_that_was_killed_comes_back_as_itself(home: Path) -> None:
    """The second manager is not there yet, and a match of the first goes on."""
    async with chair(home, manager=SIGNED) as seat:
        token = match_token()
        await seat.call("handle_game_invitation", invitation(auth_token=token))
        await seat.call("notify_match_result", {**game_over(), "auth_token": token})
    async with chair(home, manager={"register_player": never_reply}, registered=False) as seat:
        answer = await seat.call("choose_parity", parity_call(auth_token=match_token()))
        assert answer["auth_token"] == TOKEN
        assert (await seat.state())["stats"]["played"] == 1
        refused = await seat.call("choose_parity", parity_call(auth_token=match_token(STRANGER)))
        assert refused["error_code"] == "E012"
        (request,) = await seat.manager.wait_for_calls("register_player")
    assert (request["sender"], request["auth_token"]) == ("player:P01", TOKEN)


async def test_the_state_of_the_player_follows_its_life(home: Path) -> None:
    async with chair(home) as seat:
        lives = [(await seat.state())["state"]]
        await seat.call("handle_game_invitation", invitation())
        lives.append((await seat.state())["state"])
        await seat.call("notify_league_completed", seat.manager.build_message(**NOTICES["notify_league_completed"]))
        lives.append((await seat.state())["state"])
        assert await seat.choice() in ("even", "odd")
    assert lives == ["REGISTERED", "ACTIVE", "SHUTDOWN"]


async def test_a_player_that_is_to_end_with_the_league_ends(home: Path) -> None:
    network = MemoryNetwork()
    manager = ScriptedManager()
    network.attach(manager.endpoint, manager.answer)
    player = Player(player_settings(home, exit_when_done=True), RandomChoice(), network)
    network.attach("http://localhost:8101/mcp", player.dispatcher.answer_request)
    async with asyncio.timeout(BOUND), asyncio.TaskGroup() as group:
        run = group.create_task(player.run())
        await player._session.registered.wait()
        assert not run.done()
        frame = {
            "jsonrpc": "2.0",
            "method": "notify_league_completed",
            "params": manager.build_message(**NOTICES["notify_league_completed"]),
            "id": 1,
        }
        await network.exchange("http://localhost:8101/mcp", json.dumps(frame).encode(), 5)


async def test_the_state_of_a_player_shows_no_token_and_no_choice_of_a_running_match(home: Path) -> None:
    async with chair(home, Fixed("odd")) as seat:
        await seat.call("handle_game_invitation", invitation())
        await seat.choice()
        state = json.dumps(await seat.state())
        assert "odd" not in state.replace("even_odd", "")
        assert "tok-" not in state
        await seat.call("notify_game_error", QUESTIONS["notify_game_error"])
        assert all("tok-" not in json.dumps(line) for line in seat.log())
        assert "game_error" in seat.events()


async def test_whoever_watches_a_player_is_told_of_each_game(home: Path) -> None:
    async with chair(home) as seat:
        await seat.plays("R1M1")
    assert {player_id for player_id, _ in seat.told} == {"P01"}
    registered, invited, over = (happening for _, happening in seat.told)
    assert registered == LeagueJoined(LEAGUE)
    assert invited == InvitationAnswered("R1M1", "even_odd", "P02", accepted=True)
    assert (over.game.match_id, over.game.outcome) == ("R1M1", "WIN")


async def test_two_matches_with_the_same_player_at_once_are_kept_apart(home: Path) -> None:
    async with chair(home, seed="7") as seat:
        await asyncio.gather(*(seat.plays(f"R1M{number}", f"P{number:02}") for number in range(2, 12)))
        state = await seat.state()
    assert state["stats"]["played"] == 10
    assert {match["match_id"]: match["opponent_id"] for match in state["matches"]} == {
        f"R1M{number}": f"P{number:02}" for number in range(2, 12)
    }


OWN_TOKEN = "tok-ref02-a-referee-that-shows-its-own-token"


def round_of(seat: Chair, vouched: str | None, match_id: str = "R1M1") -> dict[str, Any]:
    """ROUND_ANNOUNCEMENT that says by which token the referee of a match is known."""
    match = {
        "match_id": match_id,
        "game_type": "even_odd",
        "player_A_id": "P01",
        "player_B_id": "P02",
        "referee_endpoint": "http://localhost:8001/mcp",
        "referee_token_sha256": vouched and hashlib.sha256(vouched.encode()).hexdigest(),
    }
    return seat.manager.build_message("ROUND_ANNOUNCEMENT", round_id=1, matches=[match])


@pytest.mark.parametrize("beside", [False, True], ids=["in the message", "as bearer"])
async def test_a_referee_may_show_its_own_token_where_the_manager_vouches_for_it(home: Path, beside: bool) -> None:
    async with chair(home, manager=SIGNED) as seat:
        assert await seat.call("notify_round", round_of(seat, OWN_TOKEN), bearer=manager_token()) == {"status": "ok"}
        for method, question in QUESTIONS.items():
            message = {**question, "sender": "referee:whatever", "auth_token": None if beside else OWN_TOKEN}
            assert "error_code" not in await seat.call(method, message, bearer=OWN_TOKEN if beside else None)
        assert (await seat.state())["stats"]["played"] == 1


VOUCHED: dict[str, tuple[str | None, str, str | None]] = {
    "for nobody": (None, "R1M1", "manager"),
    "for another token": ("tok-ref03-another", "R1M1", "manager"),
    "for another match": (OWN_TOKEN, "R1M2", "manager"),
    "in a call that the manager didn't sign": (OWN_TOKEN, "R1M1", None),
    "in a call that a stranger signed": (OWN_TOKEN, "R1M1", "stranger"),
}


@pytest.mark.parametrize("vouched", VOUCHED)
async def test_a_referee_s_own_token_is_refused_otherwise(home: Path, vouched: str) -> None:
    token, match_id, signer = VOUCHED[vouched]
    bearers = {"manager": manager_token(), "stranger": manager_token(STRANGER), None: None}
    strategy = Fixed()
    async with chair(home, strategy, manager=SIGNED) as seat:
        await seat.call("notify_round", round_of(seat, token, match_id), bearer=bearers[signer])
        for method, question in QUESTIONS.items():
            answer = await seat.call(method, {**question, "auth_token": OWN_TOKEN})
            assert answer["error_code"] == "E012"
            assert OWN_TOKEN not in str(answer)
    assert strategy.seen == []
    assert OWN_TOKEN not in json.dumps(seat.log())


V1_LEAGUE = v1("LEAGUE_REGISTER_RESPONSE")["league_id"]
V1_MANAGER = {"handle_message": always_reply(v1("LEAGUE_REGISTER_RESPONSE", player_id="player_001"))}


async def bare(seat: Chair, message: dict[str, Any], bearer: str | None = None) -> dict[str, Any]:
    """Posts a bare message; the bare answer."""
    _, body = await seat.network.exchange(PLAYER, json.dumps(message).encode(), 10, bearer)
    answer: dict[str, Any] = json.loads(body)
    return answer


ANSWERED: dict[str, tuple[str, dict[str, Any]]] = {
    "GAME_INVITATION": ("GAME_INVITATION_RESPONSE", {"status": "READY"}),
    "PLAY_REQUEST": (
        "PLAY_RESPONSE",
        {"play": {"action": "choose", "value": "odd", "reasoning": "Choice of the player's strategy"}},
    ),
}


@pytest.mark.parametrize("kind", ANSWERED)
async def test_a_player_of_v1_answers_in_the_fields_of_001_and_no_others(home: Path, kind: str) -> None:
    expected, own = ANSWERED[kind]
    async with chair(home, Fixed("odd"), manager=V1_MANAGER, protocol=PROTOCOL_V1) as seat:
        question = v1(kind)
        answer = await bare(seat, question)
    golden = v1(expected)
    assert list(answer) == list(golden)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", answer["timestamp"])
    repeated = {name: question[name] for name in ("league_id", "round_id", "match_id", "conversation_id")}
    assert answer == {
        "protocol": "league.v1",
        "message_type": expected,
        **repeated,
        "sender": "player_001",
        "timestamp": answer["timestamp"],
        **own,
    }
    assert not list(BASE.iter_errors(answer))


async def test_who_shares_the_first_place_is_told_so(home: Path) -> None:
    async with chair(home, Fixed("even")) as seat:
        rows = [{"rank": 1, "player_id": "P02"}, {"rank": 2, "player_id": "P01"}]
        notice = NOTICES["notify_league_completed"] | {
            "champions": [{"player_id": row["player_id"], "display_name": "A", "points": 3} for row in rows],
            "final_standings": [row | {"played": 3, "points": 3, "shared_rank": 1} for row in rows],
        }
        await seat.call("notify_league_completed", seat.manager.build_message(**notice))
        assert "P01 is number 1 with 3 points; the champions, who share the first place, are P02 and P01" in "".join(
            seat.remarks
        )


async def test_a_player_of_v1_takes_all_that_001_tells_it_and_remembers_the_result(home: Path) -> None:
    async with chair(home, Fixed("even"), manager=V1_MANAGER, protocol=PROTOCOL_V1) as seat:
        for kind in ("LEAGUE_START_ANNOUNCEMENT", "GAME_START", "PLAY_VALIDATION", "ROUND_COMPLETE"):
            assert await bare(seat, v1(kind)) == {"status": "ok"}
        await bare(seat, v1("GAME_INVITATION"))
        assert (await bare(seat, v1("PLAY_REQUEST")))["play"]["value"] == "even"
        assert await bare(seat, v1("GAME_RESULT")) == {"status": "ok"}
        (game,) = seat.player.games
        assert (game.match_id, game.opponent_id, game.outcome) == ("R1M1", "player_002", "WIN")
        assert (game.my_moves, game.opponent_moves) == (("even",), ("odd",))
        assert await bare(seat, v1("LEAGUE_COMPLETE")) == {"status": "ok"}
        assert seat.player.health()["state"] == "SHUTDOWN"
        assert "player_001 is number 1 with 5 wins" in seat.remarks[-1]


async def test_a_game_that_a_player_of_v1_does_not_play_is_declined(home: Path) -> None:
    async with chair(home, manager=V1_MANAGER, protocol=PROTOCOL_V1) as seat:
        info = {**v1("GAME_INVITATION")["game_info"], "game_type": "chess"}
        assert (await bare(seat, v1("GAME_INVITATION", game_info=info)))["status"] == "DECLINED"


async def test_a_player_of_v1_is_answered_in_a_frame_where_it_is_asked_in_one(home: Path) -> None:
    async with chair(home, manager=V1_MANAGER, protocol=PROTOCOL_V1) as seat:
        for method, params in (
            ("handle_message", {"message": v1("GAME_INVITATION")}),
            ("GAME_INVITATION", v1("GAME_INVITATION")),
        ):
            assert (await seat.call(method, params))["message_type"] == "GAME_INVITATION_RESPONSE"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"timestamp": "2025-12-13T22:05:00"}, "E021"),
        ({"match_id": None}, "E003"),
        ({"league_id": "league_1"}, "E002"),
        ({"league_id": "11111111-2222-3333-4444-555555555555"}, "E008"),
        ({"game_info": {"game_type": "even_odd"}}, "E003"),
        ({"sender": "player_002"}, "E012"),
        ({"sender": "league_manager"}, "E012"),
    ],
)
async def test_a_wrong_message_of_v1_is_refused_bare_with_its_code(
    home: Path, changes: dict[str, Any], code: str
) -> None:
    async with chair(home, manager=V1_MANAGER, protocol=PROTOCOL_V1) as seat:
        answer = await bare(seat, v1("GAME_INVITATION", **changes))
    assert (answer["message_type"], answer["error_code"]) == ("LEAGUE_ERROR", code)
    assert answer["conversation_id"] == v1("GAME_INVITATION")["conversation_id"]


@pytest.mark.parametrize("token", [None, "tok-guess", TOKEN, OWN_TOKEN])
async def test_a_message_of_v1_is_no_way_around_the_signature(home: Path, token: str | None) -> None:
    """A player of v2 whose manager signs is asked in v1, bare and in frames, by somebody without a match token."""
    strategy = Fixed()
    async with chair(home, strategy, manager=SIGNED) as seat:
        for kind in ("GAME_INVITATION", "PLAY_REQUEST", "GAME_RESULT", "ROUND_COMPLETE", "LEAGUE_COMPLETE"):
            for league_id in (V1_LEAGUE, derive_league_uuid(LEAGUE)):
                message = {**v1(kind, league_id=league_id), "auth_token": token}
                answer = await bare(seat, message, token)
                framed = await seat.call("handle_message", {"message": message}, bearer=token)
                assert {answer["error_code"], framed["error_code"]} <= {"E008", "E011", "E012"}
        assert seat.player.health()["state"] == "REGISTERED"
        assert seat.player.games == []
    assert strategy.seen == []


SHAPES: dict[str, Any] = {
    "bare": lambda method, message: message,
    "handler": lambda method, message: {
        "jsonrpc": "2.0",
        "method": "handle_message",
        "params": {"message": message},
        "id": 1,
    },
    "tool": lambda method, message: {
        "jsonrpc": "2.0",
        "method": "tools/call",
        "params": {"name": method, "arguments": message},
        "id": 1,
    },
    "by its type": lambda method, message: {
        "jsonrpc": "2.0",
        "method": message["message_type"],
        "params": message,
        "id": 1,
    },
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("signed", [True, False])
async def test_in_another_shape_a_player_is_asked_as_well_and_as_safely(home: Path, shape: str, signed: bool) -> None:
    strategy = Fixed("odd")
    async with chair(home, strategy, manager=SIGNED) as seat:
        question = parity_call(auth_token=match_token() if signed else "tok-guess")
        text = json.dumps(await bare(seat, SHAPES[shape]("choose_parity", question)))
    assert ("CHOOSE_PARITY_RESPONSE" in text, "E012" in text) == (signed, not signed)
    assert len(strategy.seen) == signed
    assert (TOKEN in text) is signed  # its own token goes to those alone whom the manager vouches for


async def test_a_strict_player_answers_in_the_seeds_form_alone(home: Path) -> None:
    strategy = Fixed("odd")
    system = ConfigLoader(home, {"tolerance.strict": True}).load_system()
    async with chair(home, strategy, system=system) as seat:
        for shape in SHAPES.values():
            assert "error" in await bare(seat, shape("choose_parity", parity_call()))
        assert strategy.seen == []
        assert await seat.choice() == "odd"


async def test_what_is_played_in_a_check_is_remembered_by_nobody(home: Path) -> None:
    given = {"status": "ACCEPTED", "player_id": "P07", "auth_token": "tok-p07-secret", "league_id": CHECK_LEAGUE}
    async with chair(home, manager={"register_player": always_reply(given)}) as seat:
        await seat.call("handle_game_invitation", invitation(league_id=CHECK_LEAGUE))
        assert await seat.call("notify_match_result", game_over(league_id=CHECK_LEAGUE)) == {"status": "ok"}
        assert (await seat.state())["matches"] == []


async def test_a_league_error_pushed_to_a_player_changes_nothing_but_its_log(home: Path) -> None:
    async with chair(home) as seat:
        error = {
            "protocol": "league.v2",
            "message_type": "LEAGUE_ERROR",
            "sender": "league_manager",
            "timestamp": "2025-01-15T10:05:30Z",
            "conversation_id": "conv-error-001",
            "error_code": "E005",
            "error_description": "PLAYER_NOT_REGISTERED",
        }
        assert await seat.call("notify_league_error", error) == {"status": "ok"}
        assert await seat.choice() in ("even", "odd")
        (line,) = [line for line in seat.log() if line["event_type"] == "league_error_received"]
        assert line["error_code"] == "E005"


ALONE = {"status": "TECHNICAL_LOSS", "winner_player_id": "P01", "choices": {}, "reason": "P02 is suspended"}


@pytest.mark.parametrize(("sides", "is_announced"), [("AB", True), ("BA", True), ("AB", False)])
async def test_an_opponent_that_is_suspended_has_its_id_in_the_history(
    home: Path, sides: str, is_announced: bool
) -> None:
    """There is no invitation to such a match: the announcement of its round says who it was against."""
    async with chair(home) as seat:
        match = {"match_id": "R1M1", "game_type": "even_odd", "referee_endpoint": "http://localhost:8001/mcp"}
        players = {f"player_{side}_id": player_id for side, player_id in zip(sides, ("P01", "P02"), strict=True)}
        others = {"player_A_id": "P03", "player_B_id": "P04"}
        if is_announced:
            matches = [{**match, **players}, {**match, **others, "match_id": "R1M2"}]
            await seat.call(
                "notify_round", seat.manager.build_message("ROUND_ANNOUNCEMENT", round_id=1, matches=matches)
            )
        over = from_referee("GAME_OVER", game_result=ALONE)
        assert await seat.call("notify_match_result", over) == {"status": "ok"}
        (game,) = seat.player.games
        assert (game.outcome, game.opponent_id) == ("WIN", "P02" if is_announced else "unknown")
        assert list((await seat.state())["opponents"]) == [game.opponent_id]


async def test_a_suspended_player_knows_by_its_winner_whom_it_lost_to(home: Path) -> None:
    async with chair(home) as seat:
        result = {**ALONE, "winner_player_id": "P02"}
        await seat.call("notify_match_result", from_referee("GAME_OVER", game_result=result))
        assert [(game.outcome, game.opponent_id) for game in seat.player.games] == [("TECHNICAL_LOSS", "P02")]


async def test_a_suspended_opponent_of_v1_is_named_by_the_result(home: Path) -> None:
    async with chair(home, manager=V1_MANAGER, protocol=PROTOCOL_V1) as seat:
        result = {"winner": "player_001", "loser": "player_002", "outcome": "FORFEIT", "game_summary": {}}
        await bare(seat, v1("GAME_RESULT", result=result))
        assert [(game.outcome, game.opponent_id) for game in seat.player.games] == [("WIN", "player_002")]
