"""The check of a match file: what referees write holds, and what somebody changes in it is found."""

import asyncio
import copy
import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from agent_league.agent.listed_tools import CUT_DEVIATION
from agent_league.errors import ErrorCode
from agent_league.games.draw import compute_commitment
from agent_league.games.registry import Game, load_game
from agent_league.referee.match_file import NotAMatchFile
from agent_league.referee.verify import CHECKS, verify_match
from agent_league.testing.peers import Params, RawReply, Script, always_reply, never_reply, reply_garbage
from agent_league.testing.virtual_time import VirtualClock, in_virtual_time
from tests.games.sticks import STICKS
from tests.referee.hall import hall
from tests.referee.tampering import (
    ODD_VALUES,
    Change,
    Content,
    assert_found,
    double_line,
    in_turn,
    leaves,
    lines,
    put,
    reverse,
    take_line,
    wrong,
)

Scripts = Mapping[str, Script]


def choice(parity: str) -> Content:
    return {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": parity}


def matches() -> dict[str, tuple[Scripts, Scripts]]:
    """What P01 and P02 do otherwise than they should: anew for each test, as scripts wear out."""
    return {
        "played": ({}, {}),
        "after two bad answers": ({"choose_parity": in_turn(choice("Even"), reply_garbage, choice("even"))}, {}),
        "after a silence": ({}, {"choose_parity": in_turn(never_reply, choice("odd"))}),
        "declined": ({}, {"handle_game_invitation": always_reply({"accept": False})}),
        "silent at the invitation": ({"handle_game_invitation": never_reply}, {}),
        "silent at the question": ({}, {"choose_parity": never_reply}),
        "both silent": ({"choose_parity": never_reply}, {"choose_parity": never_reply}),
        "one declines, one is silent": (
            {"handle_game_invitation": always_reply({"accept": False})},
            {"handle_game_invitation": never_reply},
        ),
        "illegal to the last": ({"choose_parity": always_reply(choice("EVEN"))}, {}),
        "unreadable to the last": ({"choose_parity": reply_garbage}, {}),
        "no JSON": ({"choose_parity": in_turn(RawReply(b"<p>"))}, {}),
        "a bare body": ({"choose_parity": in_turn(RawReply(b'{"parity_choice": "even"}'))}, {}),
        "a token that is no text": (
            {"choose_parity": in_turn({**choice("even"), "auth_token": 5}, choice("even"))},
            {},
        ),
        "refusing": ({"choose_parity": always_reply({"message_type": "LEAGUE_ERROR", "error_code": "E012"})}, {}),
        "refusing with a code of silence": (
            {"choose_parity": always_reply({"message_type": "LEAGUE_ERROR", "error_code": "E009"})},
            {"choose_parity": always_reply({"message_type": "LEAGUE_ERROR", "error_code": "E001"})},
        ),
        "a mixture": (
            {"choose_parity": in_turn(choice("x"), never_reply, choice("even"))},
            {"handle_game_invitation": always_reply(7)},
        ),
        "a very long answer": ({"choose_parity": always_reply({**choice("even"), "comment": "x" * 20_000})}, {}),
        "a very long illegal answer": ({"choose_parity": always_reply({**choice("x"), "comment": "x" * 20_000})}, {}),
        "a very long invitation's answer": (
            {"handle_game_invitation": always_reply({"accept": True, "c": "x" * 20_000})},
            {},
        ),
    }


async def played(home: Path, a: Scripts, b: Scripts, **fields: Any) -> Content:
    async with hall(home, clock=VirtualClock(), seed="7") as match:
        match.pair(dict(a), dict(b))
        await match.play(**fields)
    return match.record()


@pytest.mark.parametrize("name", matches())
@in_virtual_time
async def test_what_a_referee_writes_holds(home: Path, name: str) -> None:
    content = await played(home, *matches()[name])
    findings = verify_match(content)
    assert wrong(content) == {}
    assert {finding.check: finding.sentence for finding in findings} == CHECKS


@in_virtual_time
async def test_a_match_with_a_player_of_other_manners_holds(home: Path) -> None:
    """It knows other names, and sends its choice by itself."""

    async def push(params: Params) -> Any:
        answer = match.players["P02"].build_reply("CHOOSE_PARITY_RESPONSE", params, parity_choice="odd")
        pushes.append(asyncio.create_task(match.call("choose_parity_response", answer)))
        return {"status": "received"}

    pushes: list[asyncio.Task[Any]] = []
    unknown = in_turn(RawReply(b'{"jsonrpc": "2.0", "error": {"code": -32601, "message": "what?"}, "id": null}'))
    joined = b'{"jsonrpc": "2.0", "result": {"message": {"accepted": true}}, "id": null}'
    async with hall(home, clock=VirtualClock()) as match:
        match.pair(
            b={
                "handle_game_invitation": unknown,
                "choose_parity": unknown,
                "receive_game_invitation": in_turn(RawReply(joined)),
                "receive_parity_call": push,
            }
        )
        await match.play(P02={"token_sha256": hashlib.sha256(b"tok-p02-0123456789abcdef").hexdigest()})
        await asyncio.gather(*pushes)
    content = match.record()
    assert content["tolerated"]["P02"] == [
        "called as 'receive_game_invitation'",
        "answer in result.message",
        "'accepted' for 'accept'",
        *(f"no '{name}'" for name in ("protocol", "message_type", "sender", "timestamp", "conversation_id")),
        "no 'auth_token'",
        "called as 'receive_parity_call'",
        "answer in a call of its own",
    ]
    assert wrong(content) == {}


@in_virtual_time
async def test_a_match_with_a_player_whose_tools_take_few_arguments_holds(home: Path) -> None:
    schema = {"type": "object", "properties": {"match_id": {}}, "additionalProperties": False}
    answers: dict[str, Any] = {"handle_game_invitation": {"accept": True}, "choose_parity": choice("odd")}

    async def call_tool(params: Params) -> Any:
        if params["name"] not in answers or params["arguments"].keys() != {"match_id"}:
            return {"isError": True, "content": [{"type": "text", "text": "unexpected arguments"}]}
        return {"structuredContent": answers[params["name"]]}

    unknown = in_turn(RawReply(b'{"jsonrpc": "2.0", "error": {"code": -32601, "message": "what?"}, "id": null}'))
    tools = [{"name": name, "inputSchema": schema} for name in answers]
    content = await played(
        home,
        {},
        {
            **dict.fromkeys(answers, unknown),
            "tools/call": call_tool,
            "tools/list": always_reply({"tools": tools}),
        },
    )
    assert content["result"]["status"] in ("WIN", "DRAW")
    assert CUT_DEVIATION in content["tolerated"]["P02"]
    assert wrong(content) == {}


@pytest.mark.parametrize("name", matches())
@in_virtual_time
async def test_what_a_strict_referee_writes_holds(home: Path, name: str) -> None:
    async with hall(home, {"tolerance.strict": True}, clock=VirtualClock()) as match:
        match.pair(*matches()[name])
        await match.play()
    content = match.record()
    assert content["strict"] is True
    assert content["tolerated"] == {}
    assert wrong(content) == {}


@in_virtual_time
async def test_a_match_of_a_suspended_player_holds(home: Path) -> None:
    content = await played(home, {}, {}, P02={"state": "SUSPENDED"})
    assert content["result"]["terminations"]["P02"] == "suspended"
    assert wrong(content) == {}


@in_virtual_time
async def test_a_player_whose_breaker_opens_gets_all_attempts_and_that_holds(home: Path) -> None:
    content = await played(home, {}, {"choose_parity": never_reply}, P02={"failures_in_a_row": 3})
    assert len([line for line in content["transcript"] if line["direction"] == "failed"]) == 3
    assert wrong(content) == {}
    del content["limits"]  # as in a file of when an open breaker cut attempts short
    assert wrong(content)


@in_virtual_time
async def test_a_match_lost_for_a_bad_token_holds_though_the_answer_itself_was_good(home: Path) -> None:
    async with hall(home, {"security.require_player_tokens": True}, clock=VirtualClock()) as match:
        match.pair(b={"handle_game_invitation": always_reply({"accept": True, "auth_token": "tok-of-somebody-else"})})
        await match.play(P02={"token_sha256": "0" * 64})
    content = match.record()
    assert content["result"]["terminations"]["P02"] == "bad_token"
    assert wrong(content) == {}


@in_virtual_time
async def test_a_dead_player_s_match_holds(home: Path) -> None:
    async with hall(home, clock=VirtualClock()) as match:
        match.pair()
        match.network.detach(match.players["P02"].endpoint)
        await match.start()
        await match.manager.wait_for_calls("report_match_result")
        await asyncio.gather(*match.referee._match_tasks.values())
    content = match.record()
    assert content["result"]["terminations"] == {"P01": "normal", "P02": "disconnected"}
    assert wrong(content) == {}


@in_virtual_time
async def test_a_match_that_the_referee_gave_up_is_void_and_holds(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with hall(home, clock=VirtualClock()) as match:
        match.pair()
        game = match.referee._orders.loaded_games["even_odd"]
        with monkeypatch.context() as broken:
            broken.setattr(type(game.rules), "apply", lambda *_: 1 / 0)
            await match.play()
    content = match.record()
    assert content["result"]["terminations"] == {"P01": "void", "P02": "void"}
    assert wrong(content) == {}


@in_virtual_time
async def test_a_game_by_turns_without_words_of_its_own_holds(home: Path) -> None:
    async with hall(home, clock=VirtualClock()) as match:
        match.pair()
        match.referee._orders.loaded_games["sticks"] = STICKS
        await match.play(game_type="sticks")
    content = match.record()

    def find(_: str) -> Game:
        return STICKS

    assert len(content["moves"]) > 2
    assert [finding for finding in verify_match(content, find) if not finding.ok] == []
    other = copy.deepcopy(content)
    other["transcript"][4]["message"]["move_request"]["valid_options"] = [1]
    (finding,) = [finding for finding in verify_match(other, find) if not finding.ok]
    assert finding.check == "messages"
    assert "move_request.valid_options is" in finding.sentence
    lines(content, direction="received", method="make_move")[0]["message"]["move_data"] = 9
    assert "no legal one" in next(item.sentence for item in verify_match(content, find) if item.check == "moves")


@in_virtual_time
async def test_a_good_answer_closes_the_breaker_in_the_retelling_too(home: Path) -> None:
    one = {"message_type": "GAME_MOVE_RESPONSE", "move_data": 1}
    async with hall(home, clock=VirtualClock()) as match:
        match.pair(a={"make_move": in_turn(never_reply, one, never_reply, one)})
        match.referee._orders.loaded_games["sticks"] = STICKS
        await match.play(game_type="sticks", P01={"failures_in_a_row": 3})
    content = match.record()
    assert len(lines(content, direction="failed")) == 2
    assert [finding for finding in verify_match(content, lambda _: STICKS) if not finding.ok] == []


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Content:
    """A match with everything in it: a bad answer, a silence, a draw, and a winner."""
    from agent_league.config.home import make_home

    home = tmp_path_factory.mktemp("match") / "SHARED"
    make_home(home)
    scripts = {"choose_parity": in_turn(choice("Even"), never_reply, choice("even"))}
    written: list[Content] = []

    @in_virtual_time
    async def play() -> None:
        written.append(await played(home, scripts, {}))

    play()
    return written[0]


def swap_answers(content: Content) -> None:
    """Both answers and all that was told of them, but not the moves."""
    for line, parity in zip(lines(content, **CHOSE), ("even", "odd"), strict=True):
        line["message"]["parity_choice"] = parity


def swap_times(content: Content) -> None:
    first, last = content["transcript"][0], content["transcript"][-1]
    first["at"], last["at"] = last["at"], first["at"]


def end_early(content: Content) -> None:
    states = content["lifecycle"]
    states[2]["at"] = states[3]["at"] = states[1]["at"]


def swap_players(content: Content) -> None:
    pair = content["players"]
    pair["PLAYER_A"], pair["PLAYER_B"] = pair["PLAYER_B"], pair["PLAYER_A"]


def new_seed(content: Content) -> None:
    """Another seed with its own commitment, everywhere but in what the players were shown."""
    content["draw"] = {"seed": "another", "commitment": compute_commitment("another")}


def new_seed_everywhere(content: Content) -> None:
    text = json.dumps(content)
    draw = content["draw"]
    text = text.replace(draw["seed"], "another").replace(draw["commitment"], compute_commitment("another"))
    content.update(json.loads(text))


def void(content: Content) -> None:
    """A match that was played is made one that never was."""
    content["result"].update(status="TECHNICAL_LOSS", winner_player_id=None, score={"P01": 0, "P02": 0})
    content["result"]["terminations"] = {"P01": "void", "P02": "void"}


def loss(how: str) -> Change:
    def change(content: Content) -> None:
        content["result"].update(status="TECHNICAL_LOSS", winner_player_id="P02", score={"P01": 0, "P02": 3})
        content["result"]["terminations"] = {"P01": how, "P02": "normal"}

    return change


def good_answer_called(code: str) -> Change:
    def change(content: Content) -> None:
        failed = lines(content, direction="failed", error_code="E004")[0]
        failed["message"]["parity_choice"], failed["error_code"] = "even", code
        told = lines(content, **TOLD_ERROR)[0]["message"]
        told.update(error_code=code, error_name=ErrorCode(code).name, error_description=ErrorCode(code).name)

    return change


def tolerate(notes: list[str]) -> Change:
    """In P01's choice and at the top."""

    def change(content: Content) -> None:
        lines(content, **CHOSE, player_id="P01")[0]["tolerated"] = notes
        content["tolerated"]["P01"] = notes

    return change


INVITED = {"direction": "sent", "method": "handle_game_invitation"}
ASKED = {"direction": "sent", "method": "choose_parity"}
JOINED = {"direction": "received", "method": "handle_game_invitation"}
CHOSE = {"direction": "received", "method": "choose_parity"}
"""P02's comes first: P01 needs three attempts."""
FAILED = {"direction": "failed"}
TOLD_ERROR = {"direction": "sent", "method": "notify_game_error"}
DRAWN = {"direction": "drawn"}
OVER = {"direction": "sent", "method": "notify_match_result"}
T = "transcript"


def notes_of(content: Content) -> list[str]:
    """What was tolerated in P01's choice."""
    notes: list[str] = lines(content, **CHOSE, player_id="P01")[0]["tolerated"]
    return notes


TAMPERED: dict[str, tuple[Change, str]] = {
    "winner": (put("result", "winner_player_id", value="P09"), "result"),
    "no winner": (put("result", "winner_player_id", value=None), "result"),
    "winner of a wrong type": (put("result", "winner_player_id", value={"P": 1}), "result"),
    "status": (put("result", "status", value="DRAW"), "result"),
    "drawn number": (put("result", "drawn_number", value=99), "result"),
    "drawn number as text": (put("result", "drawn_number", value="4"), "result"),
    "parity": (put("result", "number_parity", value="neither"), "result"),
    "choices": (put("result", "choices", "P01", value="odd"), "result"),
    "reason": (put("result", "reason", value="because"), "result"),
    "score": (put("result", "score", "P01", value=7), "score"),
    "score of a type": (put("result", "score", value=[3, 0]), "score"),
    "scoring": (put("scoring", "win_points", value=4), "score"),
    "termination": (put("result", "terminations", "P02", value="move_timeout"), "result"),
    "terminations of a type": (put("result", "terminations", value="normal"), "result"),
    "no result": (put("result", value=None), "dialogue"),
    "an empty result": (put("result", value={}), "result"),
    "made a technical loss": (loss("move_timeout"), "result"),
    "made a suspended player's": (loss("suspended"), "dialogue"),
    "made void": (void, "result"),
    "seed": (put("draw", "seed", value="another"), "commitment"),
    "commitment": (put("draw", "commitment", value=compute_commitment("another")), "commitment"),
    "seed and commitment": (new_seed, "commitment"),
    "seed and commitment everywhere": (new_seed_everywhere, "draws"),
    "commitment in an invitation": (put(T, INVITED, "message", "draw_commitment", value="x"), "commitment"),
    "commitment in a question": (put(T, ASKED, "message", "context", "draw_commitment", value="x"), "commitment"),
    "no context in a question": (put(T, ASKED, "message", "context", value=None), "commitment"),
    "a move": (put("moves", 0, "P01", value="odd"), "moves"),
    "a move of a wrong type": (put("moves", 0, "P01", value=None), "moves"),
    "a move more": (lambda content: content["moves"].append({"P01": "even"}), "moves"),
    "no moves": (put("moves", value=[]), "moves"),
    "an answer": (put(T, CHOSE, "message", "parity_choice", value="even"), "moves"),
    "an illegal answer": (put(T, CHOSE, "message", "parity_choice", value="EVEN"), "moves"),
    "no answer": (put(T, CHOSE, "message", value=None), "moves"),
    "answers swapped": (swap_answers, "moves"),
    "a join into a refusal": (put(T, JOINED, "message", "accept", value=False), "dialogue"),
    "another outcome drawn": (put(T, DRAWN, "outcome", value=0), "draws"),
    "the draw of another step": (put(T, DRAWN, "step", value=5), "draws"),
    "game parameters": (put("game_parameters", "max_number", value=1), "draws"),
    "bad game parameters": (put("game_parameters", "max_number", value="ten"), "dialogue"),
    "a good answer called illegal": (good_answer_called("E004"), "failures"),
    "the code of a failure": (put(T, FAILED, "error_code", value="E009"), "failures"),
    "a timeout that came early": (put(T, {"error_code": "E001"}, "latency_ms", value=10), "failures"),
    "a failure told as final": (put(T, TOLD_ERROR, "message", "retryable", value=False), "failures"),
    "a failure told with another count": (put(T, TOLD_ERROR, "message", "retry_count", value=3), "failures"),
    "the number of attempts": (put("attempts", "max", value=1), "failures"),
    "an attempt's number": (put(T, ASKED, "attempt", value=2), "dialogue"),
    "a player's line given to the other": (put(T, CHOSE, "player_id", value="P01"), "dialogue"),
    "a stranger's line": (put(T, CHOSE, "player_id", value="P09"), "messages"),
    "another method": (put(T, ASKED, "method", value="make_move"), "messages"),
    "an unknown method": (put(T, ASKED, "method", value="\x1b[31m"), "messages"),
    "another direction": (put(T, CHOSE, "direction", value="failed"), "dialogue"),
    "another result told": (put(T, OVER, "message", "game_result", "winner_player_id", value="P09"), "game over"),
    "another number told": (put(T, OVER, "message", "game_result", "drawn_number", value=99), "game over"),
    "no result told": (put(T, OVER, "message", "game_result", value=None), "messages"),
    "another seed told": (put(T, OVER, "message", "draw_seed", value="another"), "game over"),
    "a message's type": (put(T, INVITED, "message", "message_type", value="GAME_OVER"), "messages"),
    "a message's match": (put(T, ASKED, "message", "match_id", value="R9M9"), "messages"),
    "a message's league": (put(T, ASKED, "message", "league_id", value="another"), "messages"),
    "a message's round": (put(T, ASKED, "message", "round_id", value=9), "messages"),
    "a message's player": (put(T, ASKED, "message", "player_id", value="P02"), "messages"),
    "a message without its league": (lambda content: content[T][0]["message"].pop("league_id"), "messages"),
    "a message's sender": (put(T, OVER, "message", "sender", value="referee:REF09"), "messages"),
    "a message's time": (put(T, OVER, "message", "timestamp", value="2025-01-15T09:00:00Z"), "times"),
    "a message's time in words": (put(T, ASKED, "message", "timestamp", value="now"), "messages"),
    "a role": (put(T, INVITED, "message", "role_in_match", value="PLAYER_B"), "messages"),
    "an opponent": (put(T, INVITED, "message", "opponent_id", value="P09"), "messages"),
    "an opponent in a context": (put(T, ASKED, "message", "context", "opponent_id", value="P09"), "messages"),
    "a token shown": (put(T, ASKED, "message", "auth_token", value="tok-r1m1"), "messages"),
    "a deadline before its question": (put(T, ASKED, "message", "deadline", value="2025-01-15T09:00:00Z"), "times"),
    "a failure told by another name": (put(T, TOLD_ERROR, "message", "error_name", value="OTHER"), "failures"),
    "a failure told with other retries": (
        put(T, TOLD_ERROR, "message", "retry_info", "max_retries", value=9),
        "failures",
    ),
    "no retries told": (put(T, TOLD_ERROR, "message", "retry_info", value=None), "failures"),
    "nothing to say of an answer that isn't one": (
        put(T, {"error_code": "E001"}, "error_code", value="E004"),
        "failures",
    ),
    "a good answer called unreadable": (good_answer_called("E003"), "failures"),
    "a question that shows more": (put(T, ASKED, "message", "choice_of_P02", value="odd"), "messages"),
    "a context that shows more": (put(T, ASKED, "message", "context", "choice_of_P02", value="odd"), "messages"),
    "a notice sent twice": (put(T, OVER, "attempt", value=2), "dialogue"),
    "a conversation": (put(T, ASKED, "message", "conversation_id", value="conv-other"), "conversation"),
    "the conversation": (put("conversation_id", value="conv-other"), "conversation"),
    "nothing tolerated": (put("tolerated", value={}), "tolerated"),
    "one thing less tolerated": (lambda content: content["tolerated"]["P01"].pop(), "tolerated"),
    "one thing more tolerated": (lambda content: content["tolerated"]["P01"].append("a wrong hat"), "tolerated"),
    "another player's tolerated": (put("tolerated", "P02", value=["no 'sender'"]), "tolerated"),
    "no notes in an answer, nor at the top": (tolerate([]), "tolerated"),
    "other notes in an answer and at the top": (tolerate(["a wrong hat"]), "tolerated"),
    "notes of an answer in another order": (lambda content: tolerate(notes_of(content)[::-1])(content), "tolerated"),
    "notes and an unknown one": (lambda content: tolerate(["a wrong hat", *notes_of(content)])(content), "tolerated"),
    "the usual way noted": (
        lambda content: tolerate(["called as 'choose_parity'", *notes_of(content)])(content),
        "tolerated",
    ),
    "notes of what was sent": (put(T, ASKED, "tolerated", value=["no 'sender'"]), "tolerated"),
    "an answer's own token": (put(T, CHOSE | {"player_id": "P01"}, "token", value="ok"), "tolerated"),
    "made strict": (put("strict", value=True), "dialogue"),
    "a protocol": (put("protocols", "P01", value="league.v1"), "messages"),
    "an unknown protocol": (put("protocols", "P01", value="league.v9"), "messages"),
    "a protocol taken out": (lambda content: content["protocols"].pop("P01"), "messages"),
    "a stranger's protocol": (put("protocols", "P09", value="league.v2"), "messages"),
    "the match": (put("match_id", value="R9M9"), "messages"),
    "the league": (put("league_id", value="another"), "messages"),
    "the round": (put("round_id", value=9), "messages"),
    "the referee": (put("referee_id", value="REF09"), "messages"),
    "the game": (put("game_type", value="chess"), "dialogue"),
    "the players swapped": (swap_players, "messages"),
    "a player against itself": (put("players", "PLAYER_B", value="P01"), "dialogue"),
    "a player renamed": (put("players", "PLAYER_B", value="P09"), "messages"),
    "a state": (put("lifecycle", 1, "state", value="DRAWING_NUMBER"), "lifecycle"),
    "a state taken out": (lambda content: content["lifecycle"].pop(2), "lifecycle"),
    "no lifecycle": (put("lifecycle", value=[]), "lifecycle"),
    "a state's time": (put("lifecycle", 1, "at", value="2025-01-15T09:00:00.000Z"), "times"),
    "the end's time": (put("lifecycle", 3, "at", value="2025-01-15T10:00:01.000Z"), "times"),
    "no time": (put("lifecycle", 1, "at", value="soon"), "times"),
    "a line's time": (put(T, CHOSE, "at", value="2025-01-15T09:00:00.000Z"), "times"),
    "an end before the last answer": (end_early, "times"),
    "a line after the end": (lambda content: content[T].append(content[T][-1]), "dialogue"),
    "times swapped": (swap_times, "times"),
    "all lines reversed": (reverse, "dialogue"),
    "no transcript": (put(T, value=[]), "dialogue"),
    "a failure taken out": (take_line(**FAILED), "dialogue"),
    "a told failure taken out": (take_line(**TOLD_ERROR), "dialogue"),
    "the draw taken out": (take_line(**DRAWN), "dialogue"),
    "the draw doubled": (double_line(**DRAWN), "dialogue"),
    "a question doubled": (double_line(**ASKED), "dialogue"),
    "an answer doubled": (double_line(**CHOSE), "dialogue"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_change_is_found(honest: Content, name: str) -> None:
    content = copy.deepcopy(honest)
    change, check = TAMPERED[name]
    change(content)
    assert content != honest
    assert_found(content, check)


def test_every_check_can_fail() -> None:
    assert {check for _, check in TAMPERED.values()} == set(CHECKS) - {"secrecy"}  # that needs a player of league.v1


def test_the_honest_one_holds(honest: Content) -> None:
    assert wrong(honest) == {}
    assert [line["error_code"] for line in lines(honest, direction="failed")] == ["E004", "E001"]


def test_every_line_taken_out_is_found(honest: Content) -> None:
    for number in range(len(honest["transcript"])):
        content = copy.deepcopy(honest)
        del content["transcript"][number]
        assert "dialogue" in wrong(content), f"line {number + 1}"


def test_two_lines_of_one_player_swapped_are_found(honest: Content) -> None:
    count = len(honest["transcript"])
    for one in range(count):
        for other in range(one + 1, count):
            content = copy.deepcopy(honest)
            transcript = content["transcript"]
            transcript[one], transcript[other] = transcript[other], transcript[one]
            if transcript[one].get("player_id") == transcript[other].get("player_id"):
                assert wrong(content), f"lines {one + 1} and {other + 1}"


@pytest.mark.parametrize(
    "values",
    [ODD_VALUES, *(pytest.param([value], marks=pytest.mark.slow) for value in ODD_VALUES)],
    ids=["each in turn", *map(repr, ODD_VALUES)],
)
def test_no_value_anywhere_makes_the_check_itself_fail(honest: Content, values: list[Any]) -> None:
    """Each place takes its turn with one of the values; the slow cases put each value at every place."""
    content, game = copy.deepcopy(honest), load_game("even_odd")
    places = dict.fromkeys(leaf[:depth] for leaf in leaves(content) for depth in range(1, len(leaf) + 1))
    for place, value in zip(places, cycle(values)):
        inside: Any = content
        for step in place[:-1]:
            inside = inside[step]
        before, inside[place[-1]] = inside[place[-1]], value
        with suppress(NotAMatchFile):
            assert all("broke down" not in finding.sentence for finding in verify_match(content, lambda _: game))
        inside[place[-1]] = before
    assert content == honest


@pytest.mark.parametrize("content", [{}, {"transcript": []}, {"a": "\ud800"}, {"a": 2**70}])
def test_what_has_not_the_shape_of_a_match_file_is_none(content: Content) -> None:
    with pytest.raises(NotAMatchFile, match="not a match file"):
        verify_match(content)


def test_a_state_of_a_token_that_there_is_not_makes_no_match_file(honest: Content) -> None:
    content = copy.deepcopy(honest)
    put(T, CHOSE, "token", value="good")(content)
    with pytest.raises(NotAMatchFile, match=r"transcript\.\d+\.token"):
        verify_match(content)


def test_many_problems_of_one_kind_are_counted(honest: Content) -> None:
    content = copy.deepcopy(honest)
    content["transcript"] += [copy.deepcopy(content["transcript"][0]) for _ in range(30)]
    for line in content["transcript"]:
        line["at"] = "?"
    assert wrong(content)["times"][-1].startswith("and ")
    assert len(wrong(content)["times"]) == 11
