"""Our referee among strangers: managers that know no START_MATCH, and players that send their answers by themselves."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_league.testing.peers import Params, Script, always_reply, never_reply
from agent_league.testing.virtual_time import in_virtual_time
from tests.referee.hall import LEAGUE, REFEREE, SIGNED, Hall, accept_with_key, hall

OK = {"status": "ok"}


def announcement(match: Hall, *pairs: tuple[str, str, str], round_id: int = 1, **fields: Any) -> dict[str, Any]:
    """ROUND_ANNOUNCEMENT with the players' addresses; a field that is None is left out."""
    matches = [
        {
            "match_id": match_id,
            "game_type": "even_odd",
            "player_A_id": a,
            "player_B_id": b,
            "referee_endpoint": REFEREE,
            "player_A_endpoint": match.players[a].endpoint,
            "player_B_endpoint": match.players[b].endpoint,
            **fields,
        }
        for match_id, a, b in pairs
    ]
    told = [{name: value for name, value in one.items() if value is not None} for one in matches]
    return match.manager.build_message("ROUND_ANNOUNCEMENT", round_id=round_id, matches=told)


async def reports(match: Hall, count: int) -> list[str]:
    """The matches of so many reports."""
    told = await match.manager.wait_for_calls("report_match_result", count)
    return [report["match_id"] for report in told]


@pytest.mark.parametrize("method", ["notify_round", "round_announcement", "ROUND_ANNOUNCEMENT"])
@pytest.mark.parametrize("endpoint", [REFEREE, "http://127.0.0.1:8001/mcp", "http://LOCALHOST:8001"])
@in_virtual_time
async def test_a_manager_without_a_key_may_start_matches_by_announcing_them(
    home: Path, method: str, endpoint: str
) -> None:
    async with hall(home) as match:
        match.pair()
        round_ = announcement(match, ("R1M1", "P01", "P02"), referee_endpoint=endpoint, match_token="tok-of-the-match")
        assert await match.call(method, round_) == OK
        assert await reports(match, 1) == ["R1M1"]
        (invited,) = match.players["P01"].received_params("handle_game_invitation")
    assert (invited["match_id"], invited["round_id"], invited["league_id"]) == ("R1M1", 1, LEAGUE)
    assert (invited["auth_token"], invited["opponent_id"]) == ("tok-of-the-match", "P02")
    assert (invited["sender"], invited["conversation_id"]) == ("referee:REF01", "conv-r1m1-001")


@pytest.mark.parametrize("endpoint", ["http://localhost:8002/mcp", "http://10.0.0.1:8001/mcp", "nonsense", ""])
@in_virtual_time
async def test_the_matches_of_another_referee_are_left_to_it(home: Path, endpoint: str) -> None:
    async with hall(home) as match:
        match.pair()
        assert (
            await match.call("notify_round", announcement(match, ("R1M1", "P01", "P02"), referee_endpoint=endpoint))
            == OK
        )
        await asyncio.sleep(60)
        assert match.players["P01"].received_calls == []


@in_virtual_time
async def test_what_a_manager_with_a_key_announces_is_no_order(home: Path) -> None:
    async with hall(home, SIGNED, manager={"register_referee": accept_with_key}) as match:
        match.pair()
        assert await match.call("notify_round", announcement(match, ("R1M1", "P01", "P02"))) == OK
        await asyncio.sleep(60)
        assert match.players["P01"].received_calls == []


@pytest.mark.parametrize("lacking", ["player_A_endpoint", "player_B_endpoint"])
@in_virtual_time
async def test_a_match_without_addresses_is_not_played_and_that_is_logged(home: Path, lacking: str) -> None:
    async with hall(home) as match:
        match.pair()
        for missing in (None, ""):
            without: dict[str, Any] = {lacking: missing}
            await match.call("notify_round", announcement(match, ("R1M1", "P01", "P02"), **without))
        await asyncio.sleep(60)
        assert match.players["P01"].received_calls == []
    assert [line["match_id"] for line in match.log() if line["event_type"] == "match_without_addresses"] == ["R1M1"] * 2


@in_virtual_time
async def test_what_is_announced_beyond_our_room_waits_for_it(home: Path) -> None:
    peak = running = 0

    async def choose(_: Params) -> Any:
        nonlocal peak, running
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(5)
        running -= 1
        return {"parity_choice": "even"}

    async with hall(home, max_concurrent_matches=2) as match:
        pairs = [(f"R1M{number}", f"P{2 * number - 1:02}", f"P{2 * number:02}") for number in range(1, 8)]
        for _, a, b in pairs:
            match.seat(a, choose_parity=choose)
            match.seat(b)
        assert await match.call("notify_round", announcement(match, *pairs)) == OK
        assert sorted(await reports(match, 7)) == [match_id for match_id, _, _ in pairs]
        assert peak == 2


@in_virtual_time
async def test_an_announcement_said_again_is_played_once_and_each_match_id_is_taken_once(home: Path) -> None:
    async with hall(home) as match:
        match.pair()
        for round_id in (1, 1, 2):
            await match.call("notify_round", announcement(match, ("M1", "P01", "P02"), round_id=round_id))
            await reports(match, 1)
            await asyncio.sleep(5)
        assert await reports(match, 1) == ["M1"]
        assert [report["round_id"] for report in match.manager.received_params("report_match_result")] == [1]
    assert "M1 can't be played: REF01 has had a match 'M1' already, and takes each match id once" in match.remarks


@pytest.mark.parametrize("wrong", [{"match_id": "../../evil"}, {"game_type": "chess"}, {"player_B_id": "P01"}])
@in_virtual_time
async def test_an_announced_match_that_can_not_be_played_is_logged_and_the_others_are(
    home: Path, wrong: dict[str, Any]
) -> None:
    async with hall(home) as match:
        match.pair()
        good = announcement(match, ("R1M2", "P01", "P02"))
        bad = announcement(match, ("R1M1", "P01", "P02"), **wrong)
        good["matches"] = [*bad["matches"], *good["matches"]]
        assert await match.call("notify_round", good) == OK
        assert await reports(match, 1) == ["R1M2"]
        assert "announcement_refused" in {line["event_type"] for line in match.log()}


@pytest.mark.parametrize("method", ["start_match", "assign_match", "run_match", "START_MATCH"])
@pytest.mark.parametrize("message_type", ["START_MATCH", "ASSIGN_MATCH", None])
@in_virtual_time
async def test_an_order_may_name_its_players_by_id_and_address_alone(
    home: Path, method: str, message_type: str | None
) -> None:
    async with hall(home) as match:
        match.pair()
        order = match.order()
        flat = {name: value for name, value in order.items() if name not in ("player_A", "player_B", "match_token")}
        for side, player_id in (("A", "P01"), ("B", "P02")):
            flat[f"player_{side}_id"] = player_id
            flat[f"player_{side}_endpoint"] = match.players[player_id].endpoint
        flat["message_type"] = message_type
        assert await match.call(method, {name: value for name, value in flat.items() if value is not None}) == OK
        (report,) = await match.manager.wait_for_calls("report_match_result")
    assert report["result"]["score"].keys() == {"P01", "P02"}
    assert "tok-" not in str(match.players["P01"].received_calls)  # there is none to show, least of all our own


@in_virtual_time
async def test_our_own_token_goes_to_the_manager_alone_whoever_that_is(home: Path) -> None:
    seen: list[str | None] = []

    async def watch(body: bytes, bearer: str | None = None) -> bytes | None:
        seen.extend([body.decode(), bearer])
        return await match.players["P01"].answer(body, bearer)

    async with hall(home) as match:
        match.pair()
        match.network.attach(match.players["P01"].endpoint, watch)
        await match.call("notify_round", announcement(match, ("R1M1", "P01", "P02")))
        (report,) = await match.manager.wait_for_calls("report_match_result")
    token = "tok-ref01-of-the-scripted-manager"
    assert report["auth_token"] == token
    assert not [text for text in seen if text and token in text]


def known(match: Hall) -> dict[str, Any]:
    """What START_MATCH says of the players' tokens."""
    return {
        player_id: {"token_sha256": hashlib.sha256(str(player.token).encode()).hexdigest()}
        for player_id, player in match.players.items()
    }


def pushes(match: Hall, player_id: str, after: float = 0.0, **changes: Any) -> dict[str, Script]:
    """Acknowledges its questions and answers them in calls of its own, some time after."""
    return {
        "handle_game_invitation": push(match, player_id, "GAME_JOIN_ACK", after, accept=True),
        "choose_parity": push(
            match, player_id, "CHOOSE_PARITY_RESPONSE", after, **{"parity_choice": "even", **changes}
        ),
    }


def push(match: Hall, player_id: str, message_type: str, after: float, **fields: Any) -> Script:
    sent: list[Any] = []

    async def send(message: Params) -> None:
        await asyncio.sleep(after)
        await match.call(message_type.lower(), message)

    async def script(params: Params) -> Any:
        sent.append(asyncio.create_task(send(match.players[player_id].build_reply(message_type, params, **fields))))
        return {"status": "received"}

    return script


@pytest.mark.parametrize("after", [0.0, 0.1, 3.0])
@in_virtual_time
async def test_players_that_push_their_answers_play_a_match_like_any_others(home: Path, after: float) -> None:
    async with hall(home) as match:
        match.pair()
        for player_id in ("P01", "P02"):
            match.seat(player_id, "even", **pushes(match, player_id, after))
        report = await match.play(**known(match))
    assert report["result"]["terminations"] == {}
    assert report["result"]["details"]["choices"] == {"P01": "even", "P02": "even"}
    assert match.record()["tolerated"] == {
        "P01": ["answer in a call of its own"],
        "P02": ["answer in a call of its own"],
    }


SHAPES: dict[str, Callable[[str, Mapping[str, Any]], dict[str, Any]]] = {
    "bare": lambda _, message: dict(message),
    "by its type": lambda kind, message: {"jsonrpc": "2.0", "method": kind, "params": message, "id": 1},
    "handler": lambda _, message: {
        "jsonrpc": "2.0",
        "method": "handle_message",
        "params": {"message": message},
        "id": 1,
    },
    "a notification": lambda kind, message: {"jsonrpc": "2.0", "method": kind.lower(), "params": message},
}


@pytest.mark.parametrize("shape", SHAPES)
@in_virtual_time
async def test_an_answer_may_be_pushed_in_any_shape_and_spelling(home: Path, shape: str) -> None:
    async def choose(params: Params) -> Any:
        message = match.players["P01"].build_reply("CHOOSE_PARITY_RESPONSE", params, choice="odd")
        body = json.dumps(SHAPES[shape]("CHOOSE_PARITY_RESPONSE", message)).encode()
        await match.network.exchange(REFEREE, body, 5)
        return OK

    async with hall(home) as match:
        match.pair(a={"choose_parity": choose})
        report = await match.play(**known(match))
    assert report["result"]["details"]["choices"]["P01"] == "odd"


async def questioned(match: Hall, **order: Any) -> dict[str, Any]:
    """A match in which P01 acknowledges its question and P02 has answered; the question."""
    match.pair(a={"choose_parity": always_reply(OK)})
    assert await match.start(**(order or known(match))) == OK
    (question,) = await match.players["P01"].wait_for_calls("choose_parity")
    await match.players["P02"].wait_for_calls("choose_parity")
    return question


def answer(match: Hall, question: Params, **fields: Any) -> dict[str, Any]:
    return match.players["P01"].build_reply("CHOOSE_PARITY_RESPONSE", question, **{"parity_choice": "odd", **fields})


@pytest.mark.parametrize(
    ("token", "code"), [(None, "E011"), ("", "E011"), ("tok-p01-guess", "E012"), ("tok-match-R1M1", "E012")]
)
@in_virtual_time
async def test_a_pushed_answer_without_its_player_s_own_token_is_refused(
    home: Path, token: str | None, code: str
) -> None:
    async with hall(home) as match:
        question = await questioned(match)
        refused = await match.call("choose_parity_response", answer(match, question, auth_token=token))
        assert refused["error_code"] == code
        assert await match.call("choose_parity_response", answer(match, question, parity_choice="even")) == OK
        (report,) = await match.manager.wait_for_calls("report_match_result")
    assert report["result"]["details"]["choices"]["P01"] == "even"


@in_virtual_time
async def test_an_opponent_can_not_answer_in_another_s_name(home: Path) -> None:
    async with hall(home) as match:
        question = await questioned(match)
        forged = answer(match, question, auth_token=match.players["P02"].token, player_id="P01")
        assert await match.call("choose_parity_response", forged) == OK  # it counts as its own, which nobody awaits
        assert await match.call("choose_parity_response", answer(match, question, parity_choice="even")) == OK
        (report,) = await match.manager.wait_for_calls("report_match_result")
    assert report["result"]["details"]["choices"] == {"P01": "even", "P02": "odd"}


@in_virtual_time
async def test_of_several_pushed_answers_the_first_counts(home: Path) -> None:
    async with hall(home) as match:
        question = await questioned(match)
        for choice in ("even", "odd", "odd"):
            assert await match.call("choose_parity_response", answer(match, question, parity_choice=choice)) == OK
        (report,) = await match.manager.wait_for_calls("report_match_result")
        assert await match.call("choose_parity_response", answer(match, question)) == OK  # too late
    assert report["result"]["details"]["choices"]["P01"] == "even"
    assert match.record()["moves"] == [{"P01": "even", "P02": "odd"}]


@in_virtual_time
async def test_an_answer_to_another_question_answers_none(home: Path) -> None:
    async with hall(home) as match:
        question = await questioned(match)
        joined = match.players["P01"].build_reply("GAME_JOIN_ACK", question, accept=False)
        assert await match.call("game_join_ack", joined) == OK
        assert await match.call("choose_parity_response", answer(match, question)) == OK
        (report,) = await match.manager.wait_for_calls("report_match_result")
    assert report["result"]["terminations"] == {}


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"match_id": "R9M9"}, "E007"),
        ({"match_id": None}, "E003"),
        ({"parity_choice": "ODD"}, "E004"),
        ({"parity_choice": None}, "E004"),
        ({"timestamp": "2025-01-15T10:15:00"}, "E021"),
        ({"league_id": "another"}, "E008"),
        ({"protocol": "league.v3"}, "E018"),
    ],
)
@in_virtual_time
async def test_a_wrong_answer_is_refused_where_it_is_pushed_and_may_be_mended(
    home: Path, fields: dict[str, Any], code: str
) -> None:
    async with hall(home) as match:
        question = await questioned(match)
        refused = await match.call("choose_parity_response", answer(match, question, **fields))
        assert refused["error_code"] == code
        assert await match.call("choose_parity_response", answer(match, question)) == OK
        (report,) = await match.manager.wait_for_calls("report_match_result")
    assert report["result"]["details"]["choices"]["P01"] == "odd"


@in_virtual_time
async def test_under_a_manager_that_told_no_hashes_nobody_can_prove_whose_answer_it_is(home: Path) -> None:
    async with hall(home) as match:
        question = await questioned(match, P01={})
        for token in (None, "tok-p01-mine"):
            pushed = answer(match, question, auth_token=token)
            assert (await match.call("choose_parity_response", pushed))["error_code"] in ("E011", "E012")


@in_virtual_time
async def test_a_manager_without_a_key_can_not_make_us_call_elsewhere(home: Path) -> None:
    called: list[bytes] = []

    async def elsewhere(body: bytes, bearer: str | None) -> bytes:
        called.append(body)
        return b"{}"

    async with hall(home) as match:
        match.pair()
        match.network.attach("http://internal.example/admin", elsewhere)
        told = announcement(match, ("R1M1", "P01", "P02"), player_A_endpoint="http://internal.example/admin")
        await match.call("notify_round", told)
        order = match.order("R1M2")
        order["player_B"]["endpoint"] = "http://internal.example/admin"
        refused = await match.call("start_match", order)
        await asyncio.sleep(30)
    assert (refused["error_code"], refused["context"]["field"]) == ("E002", "player_B.endpoint")
    assert called == []


@in_virtual_time
async def test_a_referee_may_be_stopped_while_announced_matches_wait(home: Path) -> None:
    async with hall(home, max_concurrent_matches=1) as match:
        pairs = [(f"R1M{n}", f"P{2 * n - 1:02}", f"P{2 * n:02}") for n in range(1, 4)]
        for _, a, b in pairs:
            match.seat(a, choose_parity=never_reply)
            match.seat(b)
        assert await match.call("notify_round", announcement(match, *pairs)) == OK
        await match.players["P01"].wait_for_calls("choose_parity")
        assert match.referee.health()["running_matches"] == 1
    assert match.referee.health()["running_matches"] == 0


@in_virtual_time
async def test_one_that_acknowledges_and_never_answers_loses_within_three_deadlines(home: Path) -> None:
    async with hall(home) as match:
        match.pair(a={"choose_parity": always_reply(OK)})
        report = await match.play(**known(match))
        assert 90 <= asyncio.get_running_loop().time() <= 100
    assert report["result"]["terminations"] == {"P01": "move_timeout"}
    assert report["result"]["winner"] == "P02"


@in_virtual_time
async def test_a_strict_referee_waits_for_no_answer_in_a_call_of_its_own(home: Path) -> None:
    async def accepted(body: bytes, bearer: str | None = None) -> bytes | None:
        """Takes whatever comes (202), and sends its answers by itself."""
        frame = json.loads(body)
        if (script := scripts.get(frame["method"])) is not None:
            await script(frame["params"])
        return None

    async with hall(home, {"tolerance.strict": True}) as match:
        match.pair()
        scripts = pushes(match, "P01")
        match.network.attach(match.players["P01"].endpoint, accepted)
        assert await match.start(**known(match)) == OK
        (report,) = await match.manager.wait_for_calls("report_match_result")
        assert asyncio.get_running_loop().time() < 5
    assert report["result"]["terminations"] == {"P01": "unreadable_answer"}


@in_virtual_time
async def test_no_pushed_token_is_written_anywhere(home: Path) -> None:
    async with hall(home) as match:
        match.pair()
        for player_id in ("P01", "P02"):
            match.seat(player_id, "even", **pushes(match, player_id))
        await match.play(**known(match))
    text = json.dumps([match.record(), match.log()])
    assert "answer in a call of its own" in text
    assert not [player for player in match.players.values() if str(player.token) in text]


DEEP = '{"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "even", "x": ' + "[" * 500 + "]" * 500 + "}"
BREAKING: dict[str, Any] = {
    "nested too deep in a text": {"content": [{"type": "text", "text": DEEP}]},
    "a type that is a list": {"message_type": ["CHOOSE_PARITY_RESPONSE"], "parity_choice": "even"},
    "a status that is an object": {"status": {"status": "ok"}},
    "a sender of a megabyte": {"choice": ["even"], "sender": "x" * 1_000_000},
}


@pytest.mark.parametrize("how", BREAKING)
@pytest.mark.parametrize("protocol", ["league.v1", "league.v2"])
@in_virtual_time
async def test_an_answer_that_is_meant_to_break_us_costs_its_player_the_match_and_nobody_else_anything(
    home: Path, how: str, protocol: str
) -> None:
    play = {"play": {"action": "choose", "value": "even"}} if how == "a type that is a list" else {}

    async def answer_all(body: bytes, bearer: str | None = None) -> bytes:
        if "INVITATION" in body.decode():
            return json.dumps({"accept": True, "status": "READY"}).encode()
        return json.dumps({"jsonrpc": "2.0", "result": {**BREAKING[how], **play}, "id": 1}).encode()

    async with hall(home) as match:
        match.pair()
        match.network.attach(match.players["P01"].endpoint, answer_all)
        assert await match.start(P01={"protocol": protocol}) == OK
        (report,) = await match.manager.wait_for_calls("report_match_result")
    assert report["result"]["winner"] == "P02"
    assert report["result"]["terminations"]["P01"] in ("unreadable_answer", "illegal_move")
    assert "match_aborted" not in {line["event_type"] for line in match.log()}
