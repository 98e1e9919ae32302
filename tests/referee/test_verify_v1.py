"""The check of match files with players of `league.v1`, alone or against one of `league.v2`."""

import asyncio
import copy
import json
from collections.abc import Mapping
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from agent_league.config.home import make_home
from agent_league.games.draw import compute_commitment
from agent_league.games.registry import load_game
from agent_league.referee.match_file import NotAMatchFile
from agent_league.referee.verify import CHECKS, verify_match
from agent_league.testing.peers import Params, RawReply, Script, never_reply, reply_garbage
from agent_league.testing.virtual_time import VirtualClock, in_virtual_time
from tests.games.sticks import STICKS
from tests.referee.hall import Hall, hall
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
from tests.referee.v1_player import seat_v1

Answers = Mapping[str, tuple[Any, ...]]
"""By message type, one after another; see `in_turn`."""
EARLIER = Path(__file__).parent / "earlier"
CHOICES = {"P01": "even", "P02": "odd"}
V1 = ("P01", "P02")
KINDS = {"v1": V1, "v1 challenges v2": ("P01",), "v2 challenges v1": ("P02",)}
"""Who speaks `league.v1`."""


def play(value: Any, **more: Any) -> Content:
    return {"message_type": "PLAY_RESPONSE", "play": {"action": "choose", "value": value}, **more}


def framed(answer: Any) -> Script:
    async def script(_: Params) -> Any:
        return {"jsonrpc": "2.0", "result": answer, "id": 1}

    return script


async def framed_in_full(asked: Params) -> Any:
    """P01's answer to the letter, but in a frame."""
    same = {name: asked[name] for name in ("protocol", "league_id", "round_id", "match_id", "conversation_id")}
    own = {"message_type": "PLAY_RESPONSE", "sender": "player_001", "timestamp": asked["timestamp"]}
    return {"jsonrpc": "2.0", "result": {**same, **own, "play": {"action": "choose", "value": "odd"}}, "id": 1}


def asked(*answers: Any) -> Answers:
    return {"PLAY_REQUEST": answers}


def invited(*answers: Any) -> Answers:
    return {"GAME_INVITATION": answers}


ANSWERS: dict[str, Answers] = {
    "as it should be": {},
    "two bad answers": asked(play("Even"), reply_garbage, play("even")),
    "a silence": asked(never_reply, play("odd")),
    "a broken connection": asked(RawReply(b""), play("odd")),
    "declines": invited({"status": "DECLINED"}),
    "silent at the invitation": invited(never_reply),
    "silent to the last": asked(never_reply),
    "illegal to the last": asked(play("EVEN")),
    "unreadable to the last": asked(reply_garbage),
    "an answer without a play": asked({"message_type": "PLAY_RESPONSE"}, play("even")),
    "a play of another form": asked(play("x", play="even"), play("x", play={"action": 7, "value": "even"}), play(7)),
    "no object": asked([], 7, None),
    "an error": asked({"error": "no"}, {"error": {"code": -32601}}, play("even")),
    "a LEAGUE_ERROR": asked({"message_type": "LEAGUE_ERROR", "error_code": "E012"}),
    "a LEAGUE_ERROR of silence": asked({"message_type": "LEAGUE_ERROR", "error_code": "E009"}),
    "a LEAGUE_ERROR of a choice": asked({"message_type": "LEAGUE_ERROR", "error_code": "E004"}),
    "a JSON-RPC frame": {**invited(framed({"status": "READY"})), **asked(framed(play("odd")))},
    "a JSON-RPC frame around a good answer": asked(framed_in_full),
    "other spellings": {
        **invited({"status": "ready"}),
        **asked({"message_type": "MOVE_RESPONSE", "move": {"value": "odd"}}),
    },
    "no envelope": {**invited({"status": "READY"}), **asked({"play": {"value": "odd"}})},
    "somebody else's envelope": asked(play("odd", sender="player_009", conversation_id="c", match_id=7)),
    "a type that is none": asked(play("odd", message_type=[]), play("odd", message_type=None)),
    "another protocol": asked(play("odd", protocol="league.v9"), play("odd", protocol="league.v1")),
    "local time": asked(play("odd", timestamp="2025-01-15T10:00:00+02:00"), play("odd")),
    "a very long answer": asked(play("odd", comment="x" * 20_000)),
    "a very long illegal answer": asked(play("x", comment="x" * 20_000)),
    "a very long list": asked(["x" * 20_000]),
    "a very long invitation's answer": invited({"status": "READY", "comment": "x" * 20_000}),
    "a long illegal choice": asked(play("x" * 2000)),
    "a token for a choice": asked(play("tok-p01-0123456789abcdef"), play("odd", sender=["tok-p01-0123456789abcdef"])),
}


async def met(
    home: Path,
    v1: tuple[str, ...],
    answers: Mapping[str, Answers] | None = None,
    overrides: Content | None = None,
) -> Content:
    """A match of P01 against P02, and what its file says; `answers` are for who speaks v1."""
    async with hall(home, overrides, clock=VirtualClock(), seed="7") as match:
        match.pair()
        for player_id in v1:
            own = (answers or {}).get(player_id, {})
            scripts = {kind: in_turn(*one_by_one) for kind, one_by_one in own.items()}
            seat_v1(match, player_id, CHOICES[player_id], scripts)
        await play_out(match, v1)
    return match.record()


async def play_out(match: Hall, v1: tuple[str, ...], **fields: Any) -> None:
    for player_id in v1:
        fields[player_id] = {"protocol": "league.v1", **fields.get(player_id, {})}
    await match.start(**fields)
    await asyncio.gather(*match.referee._match_tasks.values())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ANSWERS)
@in_virtual_time
async def test_what_a_referee_writes_holds(home: Path, name: str, kind: str) -> None:
    v1 = KINDS[kind]
    content = await met(home, v1, {v1[-1]: ANSWERS[name]})
    assert wrong(content) == {}
    assert content["protocols"] == {player: "league.v1" if player in v1 else "league.v2" for player in V1}
    assert {finding.check: finding.sentence for finding in verify_match(content)} == CHECKS
    assert "void" not in content["result"]["terminations"].values()
    assert "0123456789abcdef" not in str(content)
    assert max(len(str(line)) for line in lines(content, direction="sent")) < 2000


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("two bad answers", ["E004", "E002"]),
        ("an answer without a play", ["E003"]),
        ("a type that is none", ["E002"]),
        ("another protocol", ["E018"]),
        ("local time", ["E021"]),
        ("a LEAGUE_ERROR", ["E012"] * 3),
        ("other spellings", []),
    ],
)
@in_virtual_time
async def test_a_player_of_v1_is_refused_with_the_codes_of_v2(home: Path, name: str, codes: list[str]) -> None:
    content = await met(home, V1, {"P01": ANSWERS[name]})
    assert [line["error_code"] for line in lines(content, direction="failed")] == codes


@pytest.mark.parametrize("name", ANSWERS)
@in_virtual_time
async def test_what_a_strict_referee_writes_holds(home: Path, name: str) -> None:
    content = await met(home, V1, {"P01": ANSWERS[name]}, {"tolerance.strict": True})
    assert content["strict"] is True
    assert content["tolerated"] == {}
    assert wrong(content) == {}
    lines(content, direction="received", player_id="P02")[0]["tolerated"] = ["called as 'handle_message'"]
    content["tolerated"]["P02"] = ["called as 'handle_message'"]
    assert "a strict referee tolerates nothing" in wrong(content)["tolerated"][0]


@pytest.mark.parametrize("name", ["v1_two_bad_answers", "mixed_silent"])
def test_a_file_of_an_earlier_version_still_holds(name: str) -> None:
    """It has no UUID of its own and no limits, and its opponents weren't told of invalid plays."""
    content = json.loads((EARLIER / f"{name}.json").read_text())
    assert not {"limits", "league_uuid"} & content.keys()
    assert wrong(content) == {}


@in_virtual_time
async def test_an_instance_s_uuid_and_the_league_s_limits_hold_too(home: Path) -> None:
    limits = {"join_sec": 7, "move_sec": 3.5, "attempts": 2, "base_delay_sec": 0.5}
    async with hall(home, clock=VirtualClock(), seed="7") as match:
        match.pair()
        for player_id in V1:
            seat_v1(match, player_id, CHOICES[player_id], {"PLAY_REQUEST": in_turn(play("Even"))})
        await play_out(match, V1, league_uuid=OTHER_UUID, limits=limits)
    content = match.record()
    assert content["limits"] == {**limits, "v1_join_sec": 7}
    assert {line["message"]["league_id"] for line in lines(content, direction="sent")} == {OTHER_UUID}
    assert len({line["message"]["conversation_id"] for line in lines(content, direction="sent")}) == 1
    assert len(lines(content, direction="failed")) == 4
    assert wrong(content) == {}


@pytest.mark.parametrize("v1", [V1, ("P01",)], ids=str)
@in_virtual_time
async def test_both_may_fail(home: Path, v1: tuple[str, ...]) -> None:
    content = await met(home, v1, dict.fromkeys(v1, asked(never_reply)))
    assert wrong(content) == {}


@in_virtual_time
async def test_a_suspended_player_s_match_holds(home: Path) -> None:
    async with hall(home, clock=VirtualClock()) as match:
        match.pair()
        seat_v1(match, "P02", "odd")
        await play_out(match, ("P02",), P02={"state": "SUSPENDED"})
    content = match.record()
    assert content["result"]["terminations"]["P02"] == "suspended"
    assert wrong(content) == {}


@pytest.mark.parametrize("v1", KINDS.values(), ids=str)
@in_virtual_time
async def test_a_match_that_the_referee_gave_up_holds(
    home: Path, monkeypatch: pytest.MonkeyPatch, v1: tuple[str, ...]
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(type(load_game("even_odd").rules), "apply", lambda *_: 1 / 0)
        content = await met(home, v1)
    assert content["result"]["terminations"] == {"P01": "void", "P02": "void"}
    assert wrong(content) == {}


@pytest.mark.parametrize("v1", KINDS.values(), ids=str)
@in_virtual_time
async def test_a_game_by_turns_holds(home: Path, v1: tuple[str, ...]) -> None:
    async with hall(home, clock=VirtualClock()) as match:
        match.pair()
        match.referee._orders.loaded_games["sticks"] = STICKS
        for player_id in v1:
            seat_v1(match, player_id, "")
        await play_out(match, v1, game_type="sticks")
    content = match.record()
    assert len(content["moves"]) > 2
    assert [finding for finding in verify_match(content, lambda _: STICKS) if not finding.ok] == []
    request = lines(content, direction="sent", method="make_move", player_id=v1[0])[-1]["message"]
    request["game_state"]["game_specific_state"]["previous_plays"].pop()
    (finding,) = [finding for finding in verify_match(content, lambda _: STICKS) if not finding.ok]
    assert finding.check == "messages"
    assert "previous_plays" in finding.sentence


@in_virtual_time
async def test_an_unknown_code_is_found_also_where_the_answer_was_cut(home: Path) -> None:
    content = await met(home, V1, {"P01": ANSWERS["a very long illegal answer"]})
    lines(content, direction="failed")[0]["error_code"] = "E999"
    assert "'E999' is no error" in wrong(content)["failures"][0]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Content]:
    """A match of each kind with everything in it: a bad answer, a silence, other spellings, a draw, and a winner."""
    written: dict[str, Content] = {}
    for kind, v1 in KINDS.items():
        home = tmp_path_factory.mktemp("match") / "SHARED"
        make_home(home)

        @in_virtual_time
        async def meet(home: Path = home, kind: str = kind, v1: tuple[str, ...] = v1) -> None:
            plays = {player: play(CHOICES[player], message_type="MOVE_RESPONSE") for player in v1}
            answers = {player: asked(play("Even"), never_reply, answer) for player, answer in plays.items()}
            written[kind] = await met(home, v1, answers)

        meet()
    return written


@pytest.mark.parametrize("kind", KINDS)
def test_the_honest_one_holds(honest: dict[str, Content], kind: str) -> None:
    assert wrong(honest[kind]) == {}
    failed = [line["error_code"] for line in lines(honest[kind], direction="failed")]
    assert failed == ["E004", "E001"] * len(KINDS[kind])
    assert set(honest[kind]["tolerated"]) == set(KINDS[kind])


def told_early(content: Content) -> None:
    """The defender is shown the challenger's choice before its own last answer."""
    transcript = content["transcript"]
    (shown,) = [line for line in lines(content, **VALIDATED, player_id="P02") if author_of(line) == "player_001"]
    transcript.remove(shown)
    shown["at"] = transcript[(at := transcript.index(lines(content, **CHOSE, player_id="P02")[0])) - 1]["at"]
    transcript.insert(at, shown)


def opponent_line(content: Content) -> Content:
    """The first line that tells a player of the other's bad play."""
    told = lines(content, **TOLD_ERROR, player_id="P02")
    return next(line for line in told if author_of(line) == "player_001")


def opponent_notice(content: Content) -> Content:
    notice: Content = opponent_line(content)["message"]["validation"]
    return notice


def author_of(line: Content) -> str:
    author: str = line["message"]["validation"]["player_id"]
    return author


def swap(one: Content, other: Content) -> Change:
    def change(content: Content) -> None:
        transcript = content["transcript"]
        a, b = (transcript.index(lines(content, **wanted)[0]) for wanted in (one, other))
        transcript[a], transcript[b] = transcript[b], transcript[a]

    return change


def ask_at_once(content: Content) -> None:
    """The defender's question comes before the challenger's answer."""
    transcript = content["transcript"]
    question = lines(content, **ASKED, player_id="P02")[0]
    transcript.remove(question)
    transcript.insert(transcript.index(lines(content, **ASKED, player_id="P01")[0]) + 1, question)


def each(method: str, *path: Any, value: Any) -> Change:
    """The same change in every message of one method."""

    def change(content: Content) -> None:
        for line in lines(content, direction="sent", method=method):
            put("message", *path, value=value)(line)

    return change


def called(code: str, told: str, of: str = "E004", **answer: Any) -> Change:
    """Another code for a failure, and what 001 says of it; `answer` changes what came."""

    def change(content: Content) -> None:
        failed = lines(content, **FAILED, error_code=of)[0]
        failed["error_code"] = code
        notice = content["transcript"][content["transcript"].index(failed) + 1]["message"]["validation"]
        notice["error"] = told
        if answer:
            failed["message"]["play"] |= answer
            notice["play"] |= answer

    return change


def tolerate_in_a_question(content: Content) -> None:
    lines(content, **ASKED)[0]["tolerated"] = content["tolerated"]["P01"]


def miss_token(content: Content) -> None:
    answer = lines(content, **CHOSE, player_id="P01")[0]
    answer["token"] = "missing"
    answer["tolerated"].append("no 'auth_token'")
    content["tolerated"]["P01"].append("no 'auth_token'")


INVITED = {"direction": "sent", "method": "handle_game_invitation"}
STARTED = {"direction": "sent", "method": "GAME_START"}
ASKED = {"direction": "sent", "method": "choose_parity"}
VALIDATED = {"direction": "sent", "method": "PLAY_VALIDATION"}
TOLD_ERROR = {"direction": "sent", "method": "notify_game_error"}
OVER = {"direction": "sent", "method": "notify_match_result"}
JOINED = {"direction": "received", "method": "handle_game_invitation"}
CHOSE = {"direction": "received", "method": "choose_parity"}
FAILED = {"direction": "failed"}
DRAWN = {"direction": "drawn"}
M = "message"
T = "transcript"
NOT_ALLOWED, BAD_FORM, TIMEOUT = "Choice not in allowed values", "Invalid choice format", "Timeout exceeded"
OTHER_UUID = "00000000-0000-4000-8000-000000000000"

TAMPERED: dict[str, tuple[Change, str]] = {
    "winner": (put("result", "winner_player_id", value="P09"), "result"),
    "score": (put("result", "score", "P01", value=7), "score"),
    "seed": (put("draw", "seed", value="another"), "commitment"),
    "seed and commitment": (put("draw", value={"seed": "x", "commitment": compute_commitment("x")}), "draws"),
    "another outcome drawn": (put(T, DRAWN, "outcome", value=0), "draws"),
    "a move": (put("moves", 0, "P01", value="odd"), "moves"),
    "an answer": (put(T, CHOSE, M, "play", "value", value="odd"), "moves"),
    "an illegal answer": (put(T, CHOSE, M, "play", "value", value="EVEN"), "moves"),
    "an answer of another type": (put(T, CHOSE, M, "message_type", value="GAME_START"), "moves"),
    "a join into a refusal": (put(T, JOINED, M, "status", value="DECLINED"), "dialogue"),
    "an envelope": (put(T, INVITED, M, "protocol", value="league.v2"), "messages"),
    "a message's type": (put(T, INVITED, M, "message_type", value="GAME_START"), "messages"),
    "the other name of a type": (put(T, ASKED, M, "message_type", value="MOVE_REQUEST"), "messages"),
    "a message's match": (put(T, ASKED, M, "match_id", value="R9M9"), "messages"),
    "a message's league": (put(T, ASKED, M, "league_id", value=OTHER_UUID), "messages"),
    "our own id of the league": (put(T, ASKED, M, "league_id", value="league_2025_even_odd"), "messages"),
    "a message's round": (put(T, ASKED, M, "round_id", value=9), "messages"),
    "a message's sender": (put(T, OVER, M, "sender", value="referee:REF01"), "messages"),
    "another sender": (put(T, OVER, M, "sender", value="league_manager"), "messages"),
    "a message without its sender": (lambda content: content[T][0][M].pop("sender"), "messages"),
    "a message's time": (put(T, OVER, M, "timestamp", value="2025-01-15T09:00:00.000Z"), "times"),
    "a message's time without thousandths": (put(T, INVITED, M, "timestamp", value="2025-01-15T10:00:00Z"), "messages"),
    "a token": (put(T, INVITED, M, "auth_token", value="[redacted]"), "messages"),
    "a conversation": (put(T, ASKED, M, "conversation_id", value=OTHER_UUID), "conversation"),
    "our own id of the conversation": (put(T, ASKED, M, "conversation_id", value="conv-r1m1-001"), "messages"),
    "the conversation": (put("conversation_id", value="conv-other"), "conversation"),
    "the league": (put("league_id", value="another"), "messages"),
    "the round": (put("round_id", value=9), "messages"),
    "a negative round": (put("round_id", value=-9), "messages"),
    "the match": (put("match_id", value="R9M9"), "messages"),
    "a protocol": (put("protocols", "P01", value="league.v2"), "messages"),
    "an unknown protocol": (put("protocols", "P01", value="league.v9"), "messages"),
    "no protocols": (put("protocols", value={}), "messages"),
    "a role": (put(T, INVITED, M, "game_info", "your_role", value="defender"), "messages"),
    "an opponent": (put(T, INVITED, M, "game_info", "opponent_id", value="player_009"), "messages"),
    "our own id of an opponent": (put(T, INVITED, M, "game_info", "opponent_id", value="P02"), "messages"),
    "the game of an invitation": (put(T, INVITED, M, "game_info", "game_type", value="chess"), "messages"),
    "no limit": (put(T, INVITED, M, "game_info", "timeout_seconds", value=None), "messages"),
    "a limit of nothing": (put(T, ASKED, M, "game_state", "timeout_seconds", value=0), "messages"),
    "a limit as text": (put(T, ASKED, M, "game_state", "timeout_seconds", value="30"), "messages"),
    "a limit of one question": (put(T, ASKED, M, "game_state", "timeout_seconds", value=31), "messages"),
    "a limit other than at the start": (each("choose_parity", "game_state", "timeout_seconds", value=20), "messages"),
    "a limit that had not passed": (put(T, FAILED | {"error_code": "E001"}, "latency_ms", value=29_000.0), "failures"),
    "who begins": (put(T, STARTED, M, "game_state", "current_player", value="player_002"), "messages"),
    "the rules": (put(T, STARTED, M, "game_state", "rules", "single_round", value=False), "messages"),
    "the turn": (put(T, ASKED, M, "game_state", "turn_number", value=2), "messages"),
    "a question that shows more": (
        put(T, ASKED, M, "game_state", "game_specific_state", "player_002_choice", value="odd"),
        "messages",
    ),
    "a question with more fields": (put(T, ASKED, M, "player_002_choice", value="odd"), "messages"),
    "plays that are not yet made": (
        put(T, ASKED, M, "game_state", "game_specific_state", "previous_plays", value=[{"turn": 1}]),
        "messages",
    ),
    "no start": (take_line(**STARTED), "dialogue"),
    "two starts": (double_line(**STARTED), "dialogue"),
    "a start after the first question": (swap(STARTED, ASKED), "dialogue"),
    "a start before all have joined": (swap(JOINED, STARTED), "dialogue"),
    "a start as another method": (put(T, STARTED, "method", value="PLAY_VALIDATION"), "messages"),
    "a valid play told as another": (put(T, VALIDATED, M, "validation", "play", "value", value="odd"), "moves"),
    "a valid play told as invalid": (put(T, VALIDATED, M, "validation", "status", value="INVALID"), "moves"),
    "a valid play with an error": (put(T, VALIDATED, M, "validation", "error", value="Malformed JSON"), "moves"),
    "a valid play told as another's": (put(T, VALIDATED, M, "validation", "player_id", value="player_002"), "moves"),
    "a validation of one's own id": (put(T, VALIDATED, M, "validation", "player_id", value="P01"), "moves"),
    "no validation": (take_line(**VALIDATED), "dialogue"),
    "two validations": (double_line(**VALIDATED), "dialogue"),
    "a bad play told as valid": (put(T, TOLD_ERROR, M, "validation", "status", value="VALID"), "failures"),
    "a bad play told as another": (put(T, TOLD_ERROR, M, "validation", "play", "value", value="odd"), "failures"),
    "a bad play told without it": (put(T, TOLD_ERROR, M, "validation", "play", value=None), "failures"),
    "a bad play for another reason": (put(T, TOLD_ERROR, M, "validation", "error", value="Malformed JSON"), "failures"),
    "a bad play for a reason of ours": (put(T, TOLD_ERROR, M, "validation", "error", value="E004"), "messages"),
    "an opponent told what the bad play was": (
        lambda content: opponent_notice(content)["play"].update(value="Even"),
        "failures",
    ),
    "an opponent told another reason": (
        lambda content: opponent_notice(content).update(error="Malformed JSON"),
        "failures",
    ),
    "an opponent not told": (lambda content: content[T].remove(opponent_line(content)), "dialogue"),
    "a league's uuid": (put("league_uuid", value=OTHER_UUID), "messages"),
    "another limit for invitations": (put("limits", "v1_join_sec", value=5), "messages"),
    "another limit for moves": (put("limits", "move_sec", value=29), "messages"),
    "another limit of attempts": (put("limits", "attempts", value=4), "failures"),
    "a failure told to another": (put(T, TOLD_ERROR, "player_id", value="P09"), "messages"),
    "no failure told": (take_line(**TOLD_ERROR), "dialogue"),
    "a failure taken out": (take_line(**FAILED), "dialogue"),
    "an illegal play called by another game's code": (called("E010", NOT_ALLOWED), "failures"),
    "an illegal play called unreadable": (called("E002", BAD_FORM), "failures"),
    "an illegal play called late": (called("E001", TIMEOUT), "failures"),
    "an illegal play called a bad token": (called("E012", BAD_FORM), "failures"),
    "an unknown code": (called("E999", BAD_FORM), "failures"),
    "a silence called a missing field": (called("E003", "Malformed JSON", of="E001"), "failures"),
    "a good play called illegal": (called("E004", NOT_ALLOWED, value="even"), "failures"),
    "a good play called unreadable": (called("E002", BAD_FORM, value="even"), "failures"),
    "a good play called a bad token": (called("E012", BAD_FORM, value="even"), "failures"),
    "an attempt's number": (put(T, ASKED, "attempt", value=2), "dialogue"),
    "the number of attempts": (put("attempts", "max", value=1), "dialogue"),
    "another winner told": (put(T, OVER, M, "result", "winner", value="player_009"), "game over"),
    "our own id of the winner": (put(T, OVER, M, "result", "winner", value="P01"), "game over"),
    "another loser told": (put(T, OVER, M, "result", "loser", value="player_009"), "game over"),
    "another outcome told": (put(T, OVER, M, "result", "outcome", value="FORFEIT"), "game over"),
    "another number told": (put(T, OVER, M, "result", "game_summary", "random_number", value=99), "game over"),
    "another choice told": (put(T, OVER, M, "result", "game_summary", "player_001_choice", value="x"), "game over"),
    "another reason told": (put(T, OVER, M, "result", "game_summary", "winner_reason", value="luck"), "game over"),
    "no moves told": (put(T, OVER, M, "result", "game_summary", "moves", value=[]), "game over"),
    "a seed told": (put(T, OVER, M, "result", "draw_seed", value="x"), "game over"),
    "a result taken out": (take_line(**OVER), "dialogue"),
    "nothing tolerated": (put("tolerated", value={}), "tolerated"),
    "another thing tolerated": (put("tolerated", "P01", value=["a wrong hat"]), "tolerated"),
    "other notes of an answer": (put(T, CHOSE, "tolerated", value=["a wrong hat"]), "tolerated"),
    "notes of what was sent": (tolerate_in_a_question, "tolerated"),
    "a spelling that wasn't noted": (put(T, JOINED, M, "status", value="ready"), "tolerated"),
    "a name that wasn't noted": (put(T, CHOSE, M, "sender", value="player_009"), "tolerated"),
    "an answer's token": (put(T, CHOSE, "token", value="ok"), "tolerated"),
    "a token that v1 doesn't have": (miss_token, "tolerated"),
    "made strict": (put("strict", value=True), "dialogue"),
    "all lines reversed": (reverse, "dialogue"),
    "a state taken out": (lambda content: content["lifecycle"].pop(2), "lifecycle"),
}
"""In a match of two players of `league.v1`."""

TAMPERED_PAIR: dict[str, tuple[Change, str]] = {
    "a choice told early": (told_early, "secrecy"),
    "both asked at once": (ask_at_once, "dialogue"),
    "the defender first": (swap(ASKED | {"player_id": "P01"}, ASKED | {"player_id": "P02"}), "dialogue"),
    "validations in another order": (
        swap(VALIDATED | {"player_id": "P01"}, VALIDATED | {"player_id": "P02"}),
        "dialogue",
    ),
}

TAMPERED_MIXED: dict[str, tuple[Change, str]] = {
    "the v2 player's conversation": (
        put(T, INVITED | {"player_id": "P02"}, M, "conversation_id", value="conv-other"),
        "conversation",
    ),
    "the v2 player's conversation in v1": (
        put(T, ASKED | {"player_id": "P02"}, M, "conversation_id", value=OTHER_UUID),
        "conversation",
    ),
    "the v1 player's conversation": (put(T, INVITED, M, "conversation_id", value=OTHER_UUID), "conversation"),
    "the v2 player's commitment": (
        put(T, INVITED | {"player_id": "P02"}, M, "draw_commitment", value="x"),
        "commitment",
    ),
    "the v2 player's seed": (put(T, OVER | {"player_id": "P02"}, M, "draw_seed", value="x"), "game over"),
    "the v1 player's winner": (put(T, OVER, M, "result", "winner", value="player_009"), "game over"),
    "protocols swapped": (put("protocols", value={"P01": "league.v2", "P02": "league.v1"}), "messages"),
    "both asked at once": (ask_at_once, "dialogue"),
    "a question that shows the challenger's choice": (
        put(T, ASKED | {"player_id": "P02"}, M, "context", "player_001_choice", value="even"),
        "messages",
    ),
    "a validation to the v2 player": (put(T, VALIDATED, "player_id", value="P02"), "messages"),
    "a start for the v2 player": (put(T, STARTED, "player_id", value="P02"), "messages"),
    "no start": (take_line(**STARTED), "dialogue"),
    "no validation": (take_line(**VALIDATED), "dialogue"),
    "the other's valid play told as another": (
        lambda content: put(M, "validation", "play", "value", value="even")(lines(content, **VALIDATED)[-1]),
        "moves",
    ),
}
"""Where P01 speaks `league.v1`, and P02 `league.v2`."""


@pytest.mark.parametrize("name", TAMPERED)
def test_a_change_is_found(honest: dict[str, Content], name: str) -> None:
    assert_change_found(honest["v1"], *TAMPERED[name])


@pytest.mark.parametrize("name", TAMPERED_PAIR)
def test_a_change_in_the_order_is_found(honest: dict[str, Content], name: str) -> None:
    assert_change_found(honest["v1"], *TAMPERED_PAIR[name])


@pytest.mark.parametrize("name", TAMPERED_MIXED)
def test_a_change_in_a_mixed_match_is_found(honest: dict[str, Content], name: str) -> None:
    assert_change_found(honest["v1 challenges v2"], *TAMPERED_MIXED[name])


def test_a_choice_of_the_v2_challenger_is_told_to_nobody_early(honest: dict[str, Content]) -> None:
    assert_change_found(honest["v2 challenges v1"], told_early, "secrecy")


def assert_change_found(honest: Content, change: Change, check: str) -> None:
    content = copy.deepcopy(honest)
    change(content)
    assert content != honest
    assert_found(content, check)


def test_every_check_can_fail() -> None:
    assert {check for _, check in (*TAMPERED.values(), *TAMPERED_PAIR.values())} == set(CHECKS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_line_taken_out_is_found(honest: dict[str, Content], kind: str) -> None:
    for number in range(len(honest[kind]["transcript"])):
        content = copy.deepcopy(honest[kind])
        del content["transcript"][number]
        assert "dialogue" in wrong(content), f"line {number + 1}"


@pytest.mark.parametrize("kind", KINDS)
def test_two_lines_swapped_are_found(honest: dict[str, Content], kind: str) -> None:
    """Only the two invitations run beside each other: what belongs to them may come in any order."""
    count = len(honest[kind]["transcript"])
    for one in range(count):
        for other in range(max(one + 1, 4), count):
            content = copy.deepcopy(honest[kind])
            transcript = content["transcript"]
            transcript[one], transcript[other] = transcript[other], transcript[one]
            assert wrong(content), f"lines {one + 1} and {other + 1}"


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_a_message_says_otherwise_is_found(honest: dict[str, Content], kind: str) -> None:
    """No leaf of what was sent in `league.v1` can be another."""
    content = copy.deepcopy(honest[kind])
    for number, line in enumerate(content["transcript"], 1):
        if line["direction"] != "sent" or line["player_id"] not in KINDS[kind]:
            continue
        for path in leaves(line["message"]):
            inside: Any = line["message"]
            for step in path[:-1]:
                inside = inside[step]
            before, inside[path[-1]] = inside[path[-1]], "another"
            assert wrong(content), f"line {number}: {path}"
            inside[path[-1]] = before


@pytest.mark.parametrize(
    "values",
    [ODD_VALUES, *(pytest.param([value], marks=pytest.mark.slow) for value in ODD_VALUES)],
    ids=["each in turn", *map(repr, ODD_VALUES)],
)
def test_no_value_anywhere_makes_the_check_itself_fail(honest: dict[str, Content], values: list[Any]) -> None:
    """Each place takes its turn with one of the values; the slow cases put each value at every place."""
    content, game = copy.deepcopy(honest["v1"]), load_game("even_odd")
    places = dict.fromkeys(leaf[:depth] for leaf in leaves(content) for depth in range(1, len(leaf) + 1))
    for place, value in zip(places, cycle(values)):
        inside: Any = content
        for step in place[:-1]:
            inside = inside[step]
        before, inside[place[-1]] = inside[place[-1]], value
        with suppress(NotAMatchFile):
            assert all("broke down" not in finding.sentence for finding in verify_match(content, lambda _: game))
        inside[place[-1]] = before
    assert content == honest["v1"]
