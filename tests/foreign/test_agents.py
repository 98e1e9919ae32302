"""The foreign agents themselves: each says and hears what its document has it say and hear, with none of ours near."""

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import environment, until
from tests.conftest import BOUND, free_ports
from tests.foreign import managers, players, referees
from tests.foreign.managers import MANAGERS
from tests.foreign.players import V1_PLAYERS, V2_PLAYERS
from tests.foreign.referees import REFEREES, AnnouncedReferee
from tests.foreign.sample_manager import SampleManager
from tests.foreign.sample_player import SamplePlayer
from tests.foreign.sample_referee import SampleReferee
from tests.foreign.v1_league import V1League
from tests.foreign.v1_player import V1Player, base_schema_problem
from tests.foreign.web import Agent, Answer, Message, post

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
ENVELOPE = {
    "protocol": "league.v2",
    "sender": "referee:REF01",
    "timestamp": "2025-01-15T10:15:00Z",
    "conversation_id": "conv-r1m1-001",
    "auth_token": "tok-ref01-abc123",
    "match_id": "R1M1",
}
INVITATION = {**ENVELOPE, "message_type": "GAME_INVITATION", "opponent_id": "P02", "role_in_match": "PLAYER_A"}
QUESTION = {**ENVELOPE, "message_type": "CHOOSE_PARITY_CALL", "player_id": "P01"}
RESULT = {"status": "DRAW", "winner_player_id": None}
OVER = {**ENVELOPE, "message_type": "GAME_OVER", "game_result": RESULT}


def framed(method: str, message: Message) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": message, "id": 5}


def bare(method: str, message: Message) -> Message:
    return message


def handled(method: str, message: Message) -> Message:
    return framed("handle_message", {"message": message})


def tool(method: str, message: Message) -> Message:
    return framed("tools/call", {"name": method, "arguments": message})


def wrapped(method: str, message: Message) -> Message:
    return framed(method, {"message": message})


def one_tool(method: str, message: Message) -> Message:
    return tool("handle_message", {"message": message})


def tool_with_argument(method: str, message: Message) -> Message:
    return tool(method, {"message": message})


Frame = Callable[[str, Message], Message]
FRAMES: dict[type[SamplePlayer], Frame] = {
    players.BarePlayer: bare,
    players.HandlerPlayer: handled,
    players.ToolPlayer: tool,
    players.StructuredToolPlayer: tool,
    players.ListingToolPlayer: tool,
    players.FailingToolPlayer: tool,
    players.OneToolPlayer: one_tool,
    players.ArgumentToolPlayer: tool_with_argument,
    players.WrappedPlayer: wrapped,
    players.BrokenWrappedPlayer: wrapped,
}
PLACES: dict[type[SamplePlayer], Callable[[Any], Any]] = {
    players.BarePlayer: lambda body: body,
    players.BareReplyPlayer: lambda body: body,
    **dict.fromkeys(
        (players.ToolPlayer, players.ListingToolPlayer, players.FailingToolPlayer, players.OneToolPlayer),
        lambda body: json.loads(body["result"]["content"][0]["text"]),
    ),
    **dict.fromkeys(
        (players.StructuredToolPlayer, players.ArgumentToolPlayer), lambda body: body["result"]["structuredContent"]
    ),
    players.MessagePlayer: lambda body: body["result"]["message"],
    players.ResponsePlayer: lambda body: body["result"]["response"],
    players.RequestShapedPlayer: lambda body: body["params"],
}
PUSHERS = (players.PushedPlayer, players.BarePushedPlayer)
JOINED = {
    players.AcceptedPlayer: {"accepted": True},
    players.JoinedPlayer: {"status": "joined"},
    players.AckPlayer: {"status": "ACK"},
    players.StatusAcceptedPlayer: {"status": "ACCEPTED"},
    players.ReadyPlayer: {"status": "READY"},
}


class Desk(Agent):
    """Whoever is called by a foreign agent: keeps what came, answers everything with the same."""

    def __init__(self, port: int, result: Any) -> None:
        super().__init__(port, manager="")
        self.result = result
        self.paths: list[str] = []

    def answer(self, path: str, body: Any) -> Answer:
        self.paths.append(path)
        if body.get("method") == "tools/call":
            text = json.dumps(self.result)
            return 200, {"jsonrpc": "2.0", "result": {"content": [{"type": "text", "text": text}]}, "id": body["id"]}
        return 200, {"jsonrpc": "2.0", "result": self.result, "id": body["id"]} if "jsonrpc" in body else self.result


def titles(kind: type) -> str:
    return kind.__name__


@pytest.mark.parametrize("kind", [kind for kind in V2_PLAYERS if kind not in PUSHERS], ids=titles)
def test_each_player_answers_the_calls_of_its_document(kind: type[SamplePlayer]) -> None:
    frame, find = FRAMES.get(kind, framed), PLACES.get(kind, lambda body: body["result"])
    with kind(free_ports(1), manager="") as player:
        ack = find(post(player.endpoint, frame(kind.join, INVITATION)))
        choice = find(post(player.endpoint, frame(kind.choose, QUESTION)))
        heard = find(post(player.endpoint, frame(kind.result, OVER)))
    assert (ack["message_type"], ack["conversation_id"], ack["match_id"]) == ("GAME_JOIN_ACK", "conv-r1m1-001", "R1M1")
    wanted = JOINED.get(kind, {"accept": True})
    assert {name: ack[name] for name in ("accept", "accepted", "status") if name in ack} == wanted
    if kind is players.MoveObjectPlayer:
        assert choice["message_type"] == "GAME_MOVE_RESPONSE"
        choice = {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": choice["move_data"]["choice"]}
    assert choice["message_type"] == "CHOOSE_PARITY_RESPONSE"
    assert choice["choice" if kind is players.ChoicePlayer else "parity_choice"] in {"even", "odd"}
    assert heard == {"status": "ok"}
    assert player.history == [{"match_id": "R1M1", "result": RESULT}]
    assert not player.faults


@pytest.mark.parametrize("kind", PUSHERS, ids=titles)
def test_pushed_answers_go_to_the_referee_of_the_announcement(kind: type[SamplePlayer]) -> None:
    port = free_ports(2)
    with Desk(port, {"status": "ok"}) as referee, kind(port + 1, manager="") as player:
        announcement = {"matches": [{"match_id": "R1M1", "referee_endpoint": referee.endpoint}]}
        post(player.endpoint, framed("notify_round", announcement))
        for method, message in ((kind.join, INVITATION), (kind.choose, QUESTION)):
            assert post(player.endpoint, framed(method, message))["result"] == {"status": "received"}
        until(lambda: len(referee.received) == 2, "two pushed answers")
    pushed = [body.get("params", body) for body in referee.received]
    assert {message["message_type"] for message in pushed} == {"GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE"}
    assert ("jsonrpc" in referee.received[0]) is (kind is players.PushedPlayer)


REGISTRATIONS: dict[type[SamplePlayer], tuple[str, str | None]] = {
    players.BarePlayer: ("/mcp", None),
    players.PostedPlayer: ("/register", None),
    players.FlatPlayer: ("/register", None),
    players.TypePlayer: ("/mcp", "LEAGUE_REGISTER_REQUEST"),
    players.BrokenPlayer: ("/mcp", "LEAGUE_REGISTER_REQUEST"),
    players.ParityChoosePlayer: ("/mcp", "league_register"),
    players.NoMethodPlayer: ("/mcp", "league_register"),
    players.BrokenParityPlayer: ("/mcp", "league_register"),
    players.FineParityPlayer: ("/mcp", "league_register"),
    players.HandlerPlayer: ("/mcp", "handle_message"),
    players.ToolPlayer: ("/mcp", "tools/call"),
    players.StructuredToolPlayer: ("/mcp", "tools/call"),
}


@pytest.mark.parametrize("kind", V2_PLAYERS, ids=titles)
def test_each_player_registers_in_its_own_form(kind: type[SamplePlayer]) -> None:
    port = free_ports(2)
    accepted = {"status": "ACCEPTED", "player_id": "P07", "auth_token": "tok-p07-xyz"}
    with Desk(port, accepted) as manager:
        player = kind(port + 1, manager.endpoint)
        assert player.register() == accepted
    path, method = REGISTRATIONS.get(kind, ("/mcp", "register_player"))
    assert (manager.paths, manager.received[0].get("method")) == ([path], method)
    assert player.auth_token == (None if kind is players.TokenlessPlayer else "tok-p07-xyz")
    own = {players.OwnNamePlayer: "own-name", players.OtherIdPlayer: "P01"}
    assert player.player_id == own.get(kind, "P07")


def test_a_scant_registration_has_a_name_an_address_and_no_more() -> None:
    message = players.ScantPlayer(12345, manager="").registration()
    assert not {"sender", "timestamp", "conversation_id"} & message.keys()
    assert message["player_meta"]["endpoint"] == "http://localhost:12345/mcp"
    assert message["player_meta"]["displayName"] == "Scant"


@pytest.mark.parametrize(
    ("kind", "sign"),
    [
        (SamplePlayer, {"message": "Unknown method"}),
        (players.NotFoundPlayer, "Not Found"),
        (players.UnprocessablePlayer, "unexpected value"),
        (players.BrokenPlayer, "Internal Server Error"),
        (players.NoMethodPlayer, {"code": -32601, "message": "Method not found"}),
        (players.FinePlayer, {"status": "ok"}),
        (players.BrokenParityPlayer, "Internal Server Error"),
        (players.FineParityPlayer, {"status": "ok"}),
        (players.ListingToolPlayer, {"code": -32601, "message": "Method not found"}),
        (players.WrappedPlayer, {"message": "Unknown method"}),
        (players.BrokenWrappedPlayer, "KeyError: 'message'"),
        (players.NullResultPlayer, {"code": -32000, "message": "I don't know that method"}),
    ],
)
def test_what_a_player_does_not_know_it_answers_in_its_own_way(kind: type[SamplePlayer], sign: Any) -> None:
    with kind(free_ports(1), manager="") as player:
        body = post(player.endpoint, framed("a_method_of_nobody", INVITATION))
    if isinstance(sign, str):
        assert sign in json.dumps(body)
    else:
        assert sign in body.values()


def test_an_mcp_server_lists_its_tools_and_says_which_it_does_not_know() -> None:
    with players.ListingToolPlayer(free_ports(1), manager="") as player:
        listed = post(player.endpoint, framed("tools/list", {}))["result"]["tools"]
        unknown = post(player.endpoint, tool("choose_parity", QUESTION))
    assert {one["name"] for one in listed} == {player.join, player.choose, player.result}
    assert unknown["error"] == {"code": -32602, "message": "Unknown tool: choose_parity"}
    with players.FailingToolPlayer(free_ports(1), manager="") as other:
        failed = post(other.endpoint, tool("choose_parity", QUESTION))["result"]
    assert (failed["isError"], failed["content"][0]["text"]) == (True, "Unknown tool: choose_parity")


def test_the_flat_and_the_empty_registration_hold_what_their_documents_say() -> None:
    message = players.EmptyTokenPlayer(12345, manager="").registration()
    assert message["auth_token"] == ""
    assert message["player_meta"]["protocol_version"] == "league.v2"
    assert "version" not in message["player_meta"]
    port = free_ports(2)
    with Desk(port, {"status": "ACCEPTED", "player_id": "P07", "auth_token": "tok-p07-xyz"}) as manager:
        player = players.FlatPlayer(port + 1, manager.endpoint)
        player.register()
    assert manager.received == [
        {"display_name": "Flat", "version": "1.0.0", "endpoint": player.endpoint, "agent_type": "player"}
    ]


def examples() -> dict[str, Message]:
    """The messages of 001 by type."""
    files = sorted((GOLDEN / "league.v1").glob("[A-Z]*.json"))
    return {path.name.partition(".")[0]: json.loads(path.read_text(encoding="utf-8")) for path in files}


def test_the_v1_player_takes_all_twelve_messages_at_both_of_its_addresses() -> None:
    answers = {}
    with V1Player(free_ports(1), manager="") as player:
        for message_type, message in examples().items():
            answers[message_type] = post(f"http://localhost:{player.port}/mcp", message)
            assert answers[message_type].keys() == post(f"http://localhost:{player.port}/player_v1", message).keys()
        assert "error" in post(f"http://localhost:{player.port}/mcp", {"protocol": "league.v1"})
    assert len(answers) == 12
    assert answers["GAME_INVITATION"]["status"] == "READY"
    assert answers["PLAY_REQUEST"]["play"]["value"] in {"even", "odd"}
    for message_type in ("GAME_INVITATION", "PLAY_REQUEST"):
        assert base_schema_problem(answers[message_type]) is None
    assert player.history[0]["result"] == examples()["GAME_RESULT"]["result"]
    assert len(player.faults) == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("protocol", "league.v2"),
        ("message_type", "MOVE_REQUEST"),
        ("league_id", "league_2025_even_odd"),
        ("round_id", -1),
        ("round_id", "1"),
        ("match_id", None),
        ("conversation_id", "conv-r1m1-001"),
        ("sender", "player:P01"),
        ("timestamp", "2025-12-13T21:30:00"),
    ],
)
def test_the_v1_player_checks_the_base_schema(field: str, value: object) -> None:
    message = examples()["GAME_START"]
    assert base_schema_problem(message) is None
    assert base_schema_problem({**message, field: value})


def test_other_v1_players_answer_in_a_frame_or_with_the_words_of_the_prose() -> None:
    framed_kind, move_kind = V1_PLAYERS[1:]
    with framed_kind(free_ports(1), manager="") as player:
        assert post(f"http://localhost:{player.port}/mcp", examples()["GAME_INVITATION"])["result"]["status"] == "READY"
    with move_kind(free_ports(1), manager="") as player:
        answer = post(f"http://localhost:{player.port}/mcp", examples()["PLAY_REQUEST"])
    assert answer["message_type"] == "MOVE_RESPONSE"


STARTS: dict[type[SampleReferee], str] = {
    referees.AssignedReferee: "assign_match",
    referees.RunningReferee: "run_match",
    referees.AnnouncedReferee: "notify_round",
    referees.TypeReferee: "START_MATCH",
}


def start_of(kind: type[SampleReferee], match: Message) -> Message:
    """How the referee is told to begin."""
    method = next((method for base, method in STARTS.items() if issubclass(kind, base)), "start_match")
    if method == "notify_round":
        return framed(method, {"league_id": "league_2025_even_odd", "round_id": 1, "matches": [match]})
    message = {"message_type": "START_MATCH", "league_id": "league_2025_even_odd", "round_id": 1, **match}
    if issubclass(kind, referees.AssignmentReferee):
        named = {"player_A_id": "player1_id", "player_B_id": "player2_id"}
        named |= {name.replace("id", "endpoint"): other.replace("id", "endpoint") for name, other in named.items()}
        told = {named.get(name, name): value for name, value in message.items()}
        message, method = {**told, "message_type": "MATCH_ASSIGNMENT"}, kind.start_method
    is_bare = kind in (referees.BareReferee, referees.BareAssignmentReferee, referees.PathReferee)
    return message if is_bare else framed(method, message)


OTHER_REPORTS = (referees.UndecidedReferee, referees.MistakenReferee, referees.UndecidedRunningReferee)
STARTED = [kind for kind in REFEREES.values() if kind not in (*OTHER_REPORTS, referees.PollingReferee)]


@pytest.mark.parametrize("kind", STARTED, ids=titles)
def test_each_referee_plays_and_reports_when_it_is_started_in_its_own_form(kind: type[SampleReferee]) -> None:
    port = free_ports(4)
    accepted = {"status": "ACCEPTED", "referee_id": "REF07", "auth_token": "tok-ref07-own"}
    player_kind: type[SamplePlayer] = SamplePlayer
    if kind is referees.TypeReferee:
        player_kind = players.TypePlayer
    elif kind is referees.BareReferee:
        player_kind = players.BarePlayer
    with ExitStack() as stack:
        manager = stack.enter_context(Desk(port, accepted))
        seats = [stack.enter_context(player_kind(port + number, manager="")) for number in (1, 2)]
        referee = stack.enter_context(kind(port + 3, manager.endpoint))
        assert referee.register() == accepted
        seats[0].player_id, seats[1].player_id = "P01", "P02"
        match: Message = {
            "match_id": "R1M1",
            "game_type": "even_odd",
            "player_A_id": "P01",
            "player_B_id": "P02",
            "player_A_endpoint": seats[0].endpoint,
            "player_B_endpoint": seats[1].endpoint,
            "referee_endpoint": referee.endpoint,
            "referee_id": "REF07",
            "match_token": "tok-of-this-match",
        }
        url = referee.endpoint.removesuffix("/mcp") + "/run_match" if kind is referees.PathReferee else referee.endpoint
        answer = post(url, start_of(kind, match))
        if isinstance(referee, referees.RunningReferee | referees.PathReferee):
            report = answer.get("result", {}) if "jsonrpc" in answer else answer
        else:
            report = until(lambda: [body for body in manager.received[1:] if body], "a report")[0]
            wanted = {referees.ReportingReferee: "match_result_report", referees.TypeReferee: "MATCH_RESULT_REPORT"}
            assert report.get("method", "report_match_result") == wanted.get(kind, "report_match_result")
            report = report.get("params", report)
    assert (report["message_type"], report["auth_token"]) == ("MATCH_RESULT_REPORT", "tok-ref07-own")
    assert referee.told[0]["result"]["winner_player_id"] == report["result"]["winner"]
    assert sorted(report["result"]["score"].values()) == ([0, 3] if report["result"]["winner"] else [1, 1])
    shown = "tok-of-this-match" if kind.__name__.startswith("Forwarding") else "tok-ref07-own"
    for player in seats:
        assert player.history == referee.told
        assert {body.get("params", body)["auth_token"] for body in player.received} == {shown}
    assert not referee.faults


MATCH = {"match_id": "R1M1", "player_A_id": "P01", "player_B_id": "P02", "league_id": "L", "round_id": 1}


def test_some_referees_report_what_happened_and_not_who_has_won_or_the_wrong_one() -> None:
    port = free_ports(2)
    with SamplePlayer(port, manager="") as first, SamplePlayer(port + 1, manager="") as second:
        match = {**MATCH, "player_A_endpoint": first.endpoint, "player_B_endpoint": second.endpoint}
        for kind in OTHER_REPORTS:
            referee = kind(port, manager="")
            report = referee.play(match)
            told = referee.told[0]["result"]
            result = report.get("result", report)
            assert result["details"]["drawn_number"] == told["drawn_number"]
            if kind is referees.MistakenReferee:
                assert result["winner"] != told["winner_player_id"]
            else:
                assert "winner" not in result


def test_a_polling_referee_asks_with_its_token_plays_what_it_gets_and_reports() -> None:
    port = free_ports(4)
    with ExitStack() as stack:
        first, second = (stack.enter_context(SamplePlayer(port + number, manager="")) for number in (1, 2))
        ends = {"player_A_endpoint": first.endpoint, "player_B_endpoint": second.endpoint}
        accepted = {"status": "ACCEPTED", "referee_id": "REF07", "auth_token": "tok-ref07-own"}
        manager = stack.enter_context(Desk(port, {**accepted, "matches": [{**MATCH, **ends}]}))
        referee = stack.enter_context(referees.PollingReferee(port + 3, manager.endpoint))
        referee.register()
        until(lambda: [body for body in manager.received if body["method"] == "report_match_result"], "a report")
        asked = next(body["params"] for body in manager.received if body["method"] == "get_assigned_matches")
    assert asked == {"referee_id": "REF07", "auth_token": "tok-ref07-own"}
    assert not referee.faults


@pytest.mark.parametrize("kind", [SampleManager, managers.RoundsManager], ids=titles)
def test_a_league_of_the_samples_is_played_to_its_end(kind: type[SampleManager]) -> None:
    port = free_ports(6)
    with ExitStack() as stack:
        manager = stack.enter_context(kind(port, players=4))
        referee = stack.enter_context(AnnouncedReferee(port + 1, manager.endpoint))
        guests = [stack.enter_context(SamplePlayer(port + 2 + number, manager.endpoint)) for number in range(4)]
        assert [referee.register()["status"], *(guest.register()["status"] for guest in guests)] == ["ACCEPTED"] * 5
        assert SamplePlayer(port, manager.endpoint).register()["status"] == "REJECTED"
        assert manager.over.wait(BOUND)
    assert len(manager.reports) == 6
    assert {row["played"] for row in manager.table()} == {3}
    for agent in (manager, referee, *guests):
        assert not agent.faults
    for guest in guests:
        row = manager.standings[guest.player_id]
        assert (guest.wins, guest.draws, guest.losses) == (row["wins"], row["draws"], row["losses"])


OTHER_FORMS: dict[str, Frame] = {
    "Type Manager": lambda _, message: framed(message["message_type"], message),
    "Post Manager": bare,
    "Tool Manager": tool,
    "Bare Manager": bare,
    "Handler Manager": handled,
}


@pytest.mark.parametrize("name", OTHER_FORMS)
def test_these_managers_refuse_the_seeds_form_and_take_their_own(name: str) -> None:
    with MANAGERS[name](free_ports(1), players=2) as manager:
        request = SamplePlayer(12345, manager.endpoint).registration()
        refused = post(manager.endpoint, framed("register_player", request))
        assert "result" not in refused
        assert not manager.players
        url = manager.endpoint.replace("/mcp", "/register") if name == "Post Manager" else manager.endpoint
        welcomed = json.dumps(post(url, OTHER_FORMS[name]("register_player", request)))
    assert "P01" in manager.players
    assert ("REGISTERED" if name == "Type Manager" else "ACCEPTED") in welcomed


def test_a_v1_league_is_a_double_round_robin_of_v1_players() -> None:
    port = free_ports(5)
    with ExitStack() as stack:
        league = stack.enter_context(V1League(port, players=4))
        guests = [stack.enter_context(V1Player(port + 1 + number, league.endpoint)) for number in range(4)]
        assert [guest.register()["player_id"] for guest in guests] == [f"player_00{n}" for n in range(1, 5)]
        assert league.over.wait(BOUND)
    assert len(league.results) == 12
    for agent in (league, *guests):
        assert not agent.faults
    for guest in guests:
        assert {game["match_id"]: game["result"] for game in guest.history}.items() <= league.results.items()
        assert len(guest.history) == 6
        assert sorted(guest.roles.values()) == ["challenger"] * 3 + ["defender"] * 3
        assert guest.final is not None
        assert (guest.final["total_rounds"], guest.final["total_matches"]) == (6, 12)


def test_one_of_them_runs_as_a_program_of_its_own() -> None:
    port = free_ports(2)
    command = [sys.executable, "-m", "tests.foreign", "Sample", "--port", str(port + 1)]
    with Desk(port, {"status": "ACCEPTED", "player_id": "P07", "auth_token": "tok-p07-xyz"}) as manager:
        program = subprocess.Popen(
            [*command, "--manager", manager.endpoint], cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True
        )
        try:
            assert program.stdout
            assert "P07" in program.stdout.readline()
            answer = post(f"http://localhost:{port + 1}/mcp", framed("handle_game_invitation", INVITATION))
            assert answer["result"]["player_id"] == "P07"
        finally:
            program.terminate()
            program.communicate(timeout=BOUND)
