"""What a referee says to players of `league.v1`: the words of 001, the challenger first, no choice shown early."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agent_league.agent.answers import FailedAttempt
from agent_league.agent.match_dialects import PlayerMessagesV1
from agent_league.agent.peer_client import PeerCall
from agent_league.errors import ErrorCode
from agent_league.games.even_odd import EVEN_ODD
from agent_league.games.registry import Game
from agent_league.model.results import MatchVerdict, Outcome, Termination
from agent_league.protocol import v2
from agent_league.protocol.v1.ids import derive_conversation_uuid, derive_league_uuid
from agent_league.referee.match import Match
from agent_league.referee.messages import MatchContext, select_messages
from agent_league.testing.peers import never_reply, utc_timestamp
from agent_league.testing.virtual_time import VIRTUAL_START, in_virtual_time
from tests.games.sticks import SECRET, STICKS
from tests.protocol.examples_v1 import BASE
from tests.protocol.examples_v1 import example as v1
from tests.referee.hall import LEAGUE, Hall, hall

V1 = {"protocol": "league.v1"}
THOUGHT = 0.01
"""Seconds that a scripted player takes for an answer."""


class Fixed:
    def now(self) -> Any:
        return VIRTUAL_START


def words(player_id: str = "P01", game: Game = EVEN_ODD, players: tuple[str, str] = ("P01", "P02")) -> PlayerMessagesV1:
    seats: dict[str, Any] = {
        f"player_{side}": {"player_id": one, "display_name": one, "endpoint": "http://x/mcp", **V1}
        for side, one in zip("AB", players, strict=True)
    }
    envelope = {"sender": "league_manager", "timestamp": utc_timestamp(), "conversation_id": "conv-r1m1-001"}
    order = v2.StartMatch.write(
        **envelope,
        league_id=LEAGUE,
        round_id=1,
        match_id="R1M1",
        game_type=game.game_type,
        match_token="tok-m",
        **seats,
    )
    setting = MatchContext(order, Match("R1M1", players, game), "REF01", Fixed(), "commitment")
    found = select_messages(setting, order.player_A if player_id == players[0] else order.player_B)
    assert isinstance(found, PlayerMessagesV1)
    return found


def match_of(said: PlayerMessagesV1) -> Match:
    assert isinstance(said._match, Match)
    return said._match


def own(call: PeerCall | None) -> Any:
    """What a message has beside its envelope, once that is the example's, field by field."""
    assert call is not None
    sent, golden = dict(call.message), v1(str(call.message["message_type"]))
    assert not list(BASE.iter_errors(sent))
    assert list(sent) == list(golden)
    assert sent["league_id"] == derive_league_uuid(LEAGUE)
    assert sent["conversation_id"] == derive_conversation_uuid(f"{LEAGUE}/conv-r1m1-001")
    assert sent["timestamp"] == "2025-01-15T10:00:00.000Z"
    for name in ("protocol", "round_id", "match_id", "sender"):
        assert sent[name] == golden[name]
    (name,) = [name for name in sent if name not in v1("GAME_INVITATION_RESPONSE")]
    return sent[name]


def test_an_invitation_is_that_of_001() -> None:
    call = words().write_invitation(30)
    assert own(call) == v1("GAME_INVITATION")["game_info"]
    assert (call.method, call.answer_type) == ("handle_game_invitation", "GAME_INVITATION_RESPONSE")
    assert own(words("P02").write_invitation(2.5)) == {
        "game_type": "even_odd",
        "opponent_id": "player_001",
        "your_role": "defender",
        "timeout_seconds": 2.5,
    }


@pytest.mark.parametrize("player_id", ["P01", "P02"])
def test_the_start_names_the_challenger_to_both(player_id: str) -> None:
    assert own(words(player_id).write_game_start(30)) == v1("GAME_START")["game_state"]


def test_a_question_is_that_of_001_and_shows_no_choice_of_this_step() -> None:
    call = words("P02").write_move_request(30)
    assert own(call) == v1("PLAY_REQUEST")["game_state"]
    assert (call.method, call.answer_type) == ("choose_parity", "PLAY_RESPONSE")


def test_another_game_shows_its_moves_and_the_plays_so_far() -> None:
    said = words(game=STICKS)
    match_of(said).record_join("P01")
    match_of(said).record_join("P02")
    match_of(said).apply_moves({"P01": 2})
    match_of(said).apply_moves({"P02": 1})
    state = own(said.write_move_request(30))
    assert state["turn_number"] == 3
    special = state["game_specific_state"]
    plays = [{"turn": 1, "player_id": "player_001", "value": 2}, {"turn": 2, "player_id": "player_002", "value": 1}]
    assert special["previous_plays"] == plays
    assert (special["game_type"], special["valid_options"]) == ("sticks", [1, 2, 3])
    assert special["your_role"] == "challenger"


def test_moves_that_are_not_public_are_told_to_their_own_player_alone() -> None:
    own_play = {"turn": 1, "player_id": "player_001", "value": 2}
    for player_id, moves, known in (("P01", ({"P01": 2}, {"P02": 1}), [own_play]), ("P02", ({"P01": 2},), [])):
        said = words(player_id, SECRET)
        match_of(said).record_join("P01")
        match_of(said).record_join("P02")
        for move in moves:
            match_of(said).apply_moves(move)
        assert own(said.write_move_request(30))["game_specific_state"]["previous_plays"] == known
        assert (own(said.write_validation("P01", 2))["play"] is None) == (player_id == "P02")


def test_a_valid_play_is_told_as_in_001() -> None:
    assert own(words("P02").write_validation("P01", "even")) == v1("PLAY_VALIDATION")["validation"]


REASONS: list[tuple[ErrorCode, Any, Any, str | None]] = [
    (ErrorCode.TIMEOUT_ERROR, None, None, "Timeout exceeded"),
    (ErrorCode.CONNECTION_ERROR, None, None, "Timeout exceeded"),
    (ErrorCode.INVALID_PARITY_CHOICE, {"play": {"value": "EVEN"}}, {"action": "choose", "value": "EVEN"}, None),
    (ErrorCode.INVALID_MOVE, {"play": {"action": "put", "value": 9}}, {"action": "put", "value": 9}, None),
    (ErrorCode.MISSING_REQUIRED_FIELD, {"play": {}}, None, "Invalid choice format"),
    (ErrorCode.INVALID_MESSAGE_FORMAT, {"play": "even"}, None, "Invalid choice format"),
    (ErrorCode.INVALID_MESSAGE_FORMAT, {"play": {"value": 1, "action": 5}}, None, "Invalid choice format"),
    (ErrorCode.INVALID_MESSAGE_FORMAT, "<html>", None, "Malformed JSON"),
    (ErrorCode.INVALID_MESSAGE_FORMAT, ["x"], None, "Malformed JSON"),
]


@pytest.mark.parametrize(("code", "answer", "play", "reason"), REASONS)
def test_a_mishap_is_an_invalid_play_with_one_of_the_four_reasons(
    code: ErrorCode, answer: Any, play: Any, reason: str | None
) -> None:
    call = words().write_failure(FailedAttempt(code, "a sentence", "PLAY_RESPONSE", answer, 1, 3, None))
    assert own(call) == {
        "player_id": "player_001",
        "play": play,
        "status": "INVALID",
        "error": reason or "Choice not in allowed values",
    }
    assert call.method == "notify_game_error"


def finished(game: PlayerMessagesV1, moves: dict[str, str], number: int | None = None) -> PlayerMessagesV1:
    for player in game._match.players:
        match_of(game).record_join(player)
    match_of(game).apply_moves(moves)
    if number is not None:
        match_of(game).apply_draw(number)
    return game


def test_a_result_is_that_of_001_in_both_of_its_forms() -> None:
    said = finished(words(), {"P01": "even", "P02": "odd"}, 42)
    result = own(said.write_game_over(MatchVerdict(Outcome.WIN, "P01", "P01 correct, P02 wrong"), "seed"))
    golden = v1("GAME_RESULT")["result"]
    turn = {"turn": 1, "player_001": "even", "player_002": "odd", "number": 42, "winner": "player_001"}
    assert result == {**golden, "game_summary": {**golden["game_summary"], "moves": [turn]}}


def test_a_draw_has_neither_winner_nor_loser() -> None:
    said = finished(words(), {"P01": "even", "P02": "even"}, 7)
    result = own(said.write_game_over(MatchVerdict(Outcome.DRAW, None, "Both chose even"), "seed"))
    assert (result["winner"], result["loser"], result["outcome"]) == (None, None, "DRAW")


def test_a_technical_loss_is_a_forfeit_and_says_what_was_received() -> None:
    said = words()
    for player in ("P01", "P02"):
        match_of(said).record_join(player)
    match_of(said).record_failure("P02", Termination.MOVE_TIMEOUT)
    match_of(said).apply_moves({"P01": "even"})
    result = own(said.write_game_over(match_of(said).decide_verdict(), "seed"))
    assert (result["winner"], result["loser"], result["outcome"]) == ("player_001", "player_002", "FORFEIT")
    summary = result["game_summary"]
    assert summary["player_001_choice"] == "even"
    assert "player_002_choice" not in summary
    assert (summary["random_number"], summary["number_parity"]) == (None, None)
    assert summary["winner_reason"] == "Technical loss (player_002: move timeout)"


def test_in_a_sentence_each_player_is_called_by_its_own_id() -> None:
    said = finished(words("P10", players=("P10", "P100")), {"P10": "even", "P100": "odd"}, 8)
    result = own(
        said.write_game_over(MatchVerdict(Outcome.WIN, "P100", "P100 beat P10, not P1000 (P10: even)"), "seed")
    )
    reason = result["game_summary"]["winner_reason"]
    assert reason == "player_100 beat player_010, not P1000 (player_010: even)"


def test_no_token_and_no_seed_is_shown_in_v1() -> None:
    said = finished(words(), {"P01": "even", "P02": "odd"}, 8)
    over = said.write_game_over(MatchVerdict(Outcome.WIN, "P01", "x"), "the-draw-seed")
    for call in (said.write_invitation(5), said.write_game_start(5), said.write_move_request(5), over):
        assert call is not None
        assert "tok-m" not in str(call.message)
        assert "the-draw-seed" not in str(call.message)
        assert "commitment" not in str(call.message)


class V1Player:
    """A player in the letter of 001: bare messages in, bare messages out. Keeps what everybody hears, in order."""

    def __init__(self, match: Hall, player_id: str, choice: Any = "even") -> None:
        self.id = f"player_{int(player_id[1:]):03}"
        self.choice = choice
        self.heard: list[dict[str, Any]] = []
        self.log: list[tuple[str, str]] = []
        self.asked_at = 0.0
        seat = match.seat(player_id)
        match.network.attach(seat.endpoint, self.answer)

    async def answer(self, body: bytes, bearer: str | None = None) -> bytes:
        message = json.loads(body)
        self.heard.append(message)
        kind = message["message_type"]
        self.log.append((self.id, kind))
        self.asked_at = asyncio.get_running_loop().time() if kind == "PLAY_REQUEST" else self.asked_at
        await asyncio.sleep(THOUGHT)
        match kind:
            case "GAME_INVITATION":
                reply = self._reply(message, "GAME_INVITATION_RESPONSE", status="READY")
            case "PLAY_REQUEST":
                reply = self._reply(message, "PLAY_RESPONSE", play={"action": "choose", "value": self.choice})
            case _:
                reply = {"status": "ok"}
        return json.dumps(reply).encode()

    def _reply(self, message: dict[str, Any], kind: str, **own: Any) -> dict[str, Any]:
        return {**v1(kind), **{n: message[n] for n in ("conversation_id", "match_id")}, "sender": self.id, **own}

    def types(self) -> list[str]:
        return [message["message_type"] for message in self.heard]


ORDER = ["GAME_INVITATION", "GAME_START", "PLAY_REQUEST", "PLAY_VALIDATION", "PLAY_VALIDATION", "GAME_RESULT"]


@in_virtual_time
async def test_a_match_of_v1_goes_the_way_of_001_and_no_choice_is_shown_early(home: Path) -> None:
    async with hall(home) as match:
        a, b = V1Player(match, "P01", "even"), V1Player(match, "P02", "odd")
        a.log = b.log
        reports = bare_reports(match)
        assert await match.start(P01=V1, P02=V1) == {"status": "ok"}
        bearer, report = await reports.get()
        assert (a.types(), b.types()) == (ORDER, ORDER)
        assert b.asked_at >= a.asked_at + THOUGHT  # the defender, once the challenger has answered
        asked = a.log.index(("player_001", "PLAY_REQUEST"))
        assert asked < a.log.index(("player_001", "PLAY_VALIDATION")) < a.log.index(("player_002", "PLAY_VALIDATION"))
        assert a.log.index(("player_002", "PLAY_REQUEST")) < a.log.index(("player_002", "PLAY_VALIDATION"))
        told = [message["validation"]["player_id"] for message in b.heard if "validation" in message]
        assert sorted(told) == ["player_001", "player_002"]
        assert "player_001" not in str(b.heard[2]["game_state"])  # the question to the defender
        assert a.heard[-1]["result"] == b.heard[-1]["result"]
    assert bearer == "tok-ref01-of-the-scripted-manager"
    assert report["message_type"] == "GAME_RESULT"
    assert "auth_token" not in report
    assert {name: value for name, value in report["result"].items() if name in a.heard[-1]["result"]} == a.heard[-1][
        "result"
    ]
    record = match.record()
    assert record["protocols"] == {"P01": "league.v1", "P02": "league.v1"}
    assert record["tolerated"] == {}


def bare_reports(match: Hall) -> "asyncio.Queue[tuple[str | None, dict[str, Any]]]":
    """What the manager is told in bare messages, with the token beside; framed calls go their usual way."""
    told: asyncio.Queue[tuple[str | None, dict[str, Any]]] = asyncio.Queue()

    async def answer(body: bytes, bearer: str | None = None) -> bytes | None:
        message = json.loads(body)
        if "method" in message:
            return await match.manager.answer(body, bearer)
        told.put_nowait((bearer, message))
        return b'{"status": "ok"}'

    match.network.attach(match.manager.endpoint, answer)
    return told


@in_virtual_time
async def test_a_mixed_match_is_asked_in_turn_and_reported_in_v2(home: Path) -> None:
    async with hall(home) as match:
        match.seat("P01", "even")
        guest = V1Player(match, "P02", "odd")
        report = await match.start(P02=V1)
        assert report == {"status": "ok"}
        (told,) = await match.manager.wait_for_calls("report_match_result")
        assert guest.types() == ORDER
        assert [m for m, _ in match.players["P01"].received_calls] == [
            "handle_game_invitation",
            "choose_parity",
            "notify_match_result",
        ]
    assert told["message_type"] == "MATCH_RESULT_REPORT"
    assert told["auth_token"]
    assert told["result"]["details"]["choices"] == {"P01": "even", "P02": "odd"}


@pytest.mark.parametrize(("author", "opponent"), [("P01", "P02"), ("P02", "P01")])
@in_virtual_time
async def test_an_invalid_play_is_told_to_the_opponent_too_at_once_and_without_the_choice(
    home: Path, author: str, opponent: str
) -> None:
    async with hall(home) as match:
        bad, good = V1Player(match, author, "EVEN"), V1Player(match, opponent, "odd")
        reports = bare_reports(match)
        assert await match.start(P01=V1, P02=V1) == {"status": "ok"}
        await reports.get()
        await asyncio.sleep(1)  # the loser's notices are nobody's concern
    told = {
        player.id: [m["validation"] for m in player.heard if "validation" in m and m["validation"]["status"] != "VALID"]
        for player in (bad, good)
    }
    invalid = {"player_id": bad.id, "status": "INVALID", "error": "Choice not in allowed values"}
    assert told[bad.id] == [{**invalid, "play": {"action": "choose", "value": "EVEN"}}] * 3
    assert told[good.id] == [{**invalid, "play": {"action": "choose", "value": None}}] * 3
    golden = v1("PLAY_VALIDATION")
    sent = next(m for m in good.heard if "validation" in m and m["validation"]["status"] == "INVALID")
    assert list(sent) == list(golden)
    assert sorted(sent["validation"]) == sorted(golden["validation"])
    assert "EVEN" not in str(good.heard[:-1]), "all but the result"


@pytest.mark.parametrize("failing", ["invitation", "v2 opponent"])
@in_virtual_time
async def test_only_plays_of_a_match_are_validated(home: Path, failing: str) -> None:
    """Who stays away has made no play; an opponent of `league.v2` that plays wrongly has."""
    async with hall(home) as match:
        scripts = {"handle_game_invitation": never_reply} if failing == "invitation" else {}
        match.seat("P01", "EVEN", **scripts)
        guest = V1Player(match, "P02", "odd")
        assert await match.start(P02=V1) == {"status": "ok"}
        await match.manager.wait_for_calls("report_match_result")
    invalid = [m["validation"] for m in guest.heard if "validation" in m and m["validation"]["status"] == "INVALID"]
    assert [one["player_id"] for one in invalid] == ([] if failing == "invitation" else ["player_001"] * 3)


@in_virtual_time
async def test_a_wrong_choice_in_v1_is_told_with_its_reason_and_asked_again_and_lost_in_the_end(home: Path) -> None:
    async with hall(home) as match:
        match.seat("P01", "even")
        guest = V1Player(match, "P02", "EVEN")
        assert await match.start(P02=V1) == {"status": "ok"}
        (told,) = await match.manager.wait_for_calls("report_match_result")
        await asyncio.sleep(1)  # the loser's notices are nobody's concern
        invalid = [message["validation"] for message in guest.heard if "validation" in message]
        invalid = [validation for validation in invalid if validation["status"] == "INVALID"]
        assert guest.types().count("PLAY_REQUEST") == 3
        assert {validation["error"] for validation in invalid} == {"Choice not in allowed values"}
        assert {validation["play"]["value"] for validation in invalid} == {"EVEN"}
    assert told["result"]["terminations"]["P02"] == "illegal_move"
    assert told["result"]["winner"] == "P01"
    assert guest.heard[-1]["result"]["outcome"] == "FORFEIT"
