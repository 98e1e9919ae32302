"""Playing a recorded match again: the referee's own play, with players that answer from the match file.

Every line that the play writes is compared with the file's line in its place. Differences are reported; if a line can't
be matched at all, the replay ends. No agent is called, nothing waits, and draws come from the revealed seed.
"""

from collections.abc import Callable, Collection, Coroutine, Generator, Iterator, Mapping
from types import coroutine
from typing import Any

from agent_league.agent.answers import FailedAttempt, JoinAnswer
from agent_league.agent.jsonrpc import find_refusal
from agent_league.agent.listed_tools import CUT_DEVIATION
from agent_league.agent.match_dialects import match_dialect_of
from agent_league.agent.peer_client import PUSHED_DEVIATION, PeerCall
from agent_league.clock import SystemClock, parse_utc
from agent_league.errors import BadAnswer, CallFailed, ErrorCode, PeerRefused, PeerTimeout, PeerUnreachable
from agent_league.games.registry import Game
from agent_league.model.results import MatchState, Termination
from agent_league.protocol.tolerance import ANSWER_PLACES, order_forms
from agent_league.protocol.v2.answers import TranscriptEntry
from agent_league.protocol.v2.match import CallContext, MatchPlayer
from agent_league.protocol.version import CURRENT_PROTOCOL
from agent_league.referee.json_differences import MISSING, describe_difference, find_differences, is_same_json
from agent_league.referee.match import IllegalMove
from agent_league.referee.match_file import MatchFile
from agent_league.referee.messages import PlayerMessages
from agent_league.referee.play import MatchPlay
from agent_league.referee.recorded_order import INVITATION, build_context, build_order, find_stated_limit
from agent_league.referee.requests import (
    RESULT_METHOD,
    TOKEN_CODES,
    TOKEN_DEVIATIONS,
    PlayerAnswer,
    PlayerClient,
    PlayerRequest,
    RefereeContext,
)
from agent_league.referee.transcript import Transcript
from agent_league.text import MAX_PHRASE, quote, shorten

ReportProblem = Callable[[str, str], None]
"""Called with the name of a check and a sentence about the problem."""
GAME_ERROR = "notify_game_error"
ILLEGAL = (ErrorCode.INVALID_PARITY_CHOICE, ErrorCode.INVALID_MOVE)
SILENT = (ErrorCode.TIMEOUT_ERROR, ErrorCode.CONNECTION_ERROR)
UNREADABLE = (ErrorCode.INVALID_MESSAGE_FORMAT, ErrorCode.MISSING_REQUIRED_FIELD)
FOREIGN_IGNORED = frozenset({"timestamp"})
OWN_IGNORED = frozenset({"timestamp", "deadline", "auth_token", "context.your_standings"})
"""Paths that can't be known, or are checked elsewhere."""
ERROR_IGNORED = OWN_IGNORED | {"message", "consequence", "game_state", "action_required", "retry_info.next_retry_at"}
OWN_OPEN = ("", "context", "game_result", "retry_info")
"""Objects that may have further fields."""
OWN_OPTIONAL = frozenset(
    {
        *("game_type", "game_parameters", "role_in_match", "opponent_id", "player_id", "affected_player"),
        *("context.opponent_id", "context.round_id"),
    }
)
CUT_FIELDS = frozenset({"validation.play", "validation.play.action", "validation.play.value", "validation.error"})
"""What PLAY_VALIDATION repeats of an answer."""
METHOD_CHECKS = {"PLAY_VALIDATION": "moves", GAME_ERROR: "failures", RESULT_METHOD: "game over"}
FIELD_CHECKS = {
    "conversation_id": "conversation",
    "draw_commitment": "commitment",
    "context.draw_commitment": "commitment",
    **dict.fromkeys(("protocol", "message_type", "sender", "league_id", "round_id", "match_id"), "messages"),
}
"""The check that a path in a message belongs to; for all others `METHOD_CHECKS`."""
ROUNDING_SECONDS = 1.5
"""In our own protocol timestamps are cut to the second."""
SLACK_SECONDS = 0.1
"""If a timeout is stated in seconds, only the clocks may differ."""


class ThreadLost(Exception):
    """The transcript can't be followed from here on."""


class MatchAborted(Exception):
    """The referee aborted the match here."""


class RecordedPlay(MatchPlay):
    """A match that is played again from its file."""

    def __init__(self, file: MatchFile, game: Game, report: ReportProblem) -> None:
        self.file = file
        self.report = report
        self.undecided_players: set[str] = set()
        """Players that have yet to answer in this step."""
        self._checked_count = 0
        """Lines that were checked for secrecy."""
        super().__init__(
            build_order(file),
            game,
            file.referee_id,
            build_context(file),
            SystemClock(),
            file.draw.seed,
            Transcript(SystemClock(), on_entry=self._compare_entry),
        )

    def replay(self) -> None:
        """Play from the invitations to GAME_OVER; raises ThreadLost."""
        try:
            _drive(self.play())
        except ThreadLost:
            raise
        except Exception:  # by MatchAborted, or by what made the referee abort the match
            if not self._is_aborted_here:
                raise
            _drive(self.abort(""))
        if len(self.transcript.entries) < len(self.file.transcript):
            raise ThreadLost(f"line {len(self.transcript.entries) + 1} comes after the end of the match")

    def make_client(self, player: MatchPlayer, messages: PlayerMessages, context: RefereeContext) -> PlayerClient:
        return RecordedClient(player, messages, context, self)

    async def gather_answers(self, requests: Mapping[str, Coroutine[Any, Any, Any]]) -> list[Any]:
        """Go on with the requests in the order of the file's lines, which may be interleaved."""
        open_requests, answers = dict(requests), {}
        try:
            while open_requests:
                number, line = self.next_line()
                player_id = line.player_id or ""
                if player_id not in open_requests:
                    raise ThreadLost(
                        f"line {number} ({line.direction} {quote(line.method)}) is of {quote(line.player_id)}, "
                        f"who has no question open; expected one of {', '.join(open_requests)}"
                    )
                try:
                    open_requests[player_id].send(None)
                except StopIteration as answered:
                    answers[player_id] = answered.value
                    del open_requests[player_id]
        finally:
            for request in open_requests.values():
                request.close()
        return [answers[player_id] for player_id in requests]

    async def collect_moves(self) -> None:
        self.undecided_players = set(self.match.legal_moves)
        await super().collect_moves()

    def notify_opponent_of_failure(self, author: str, failure: FailedAttempt) -> None:
        if self.file.limits is not None:  # in older files opponents weren't told
            super().notify_opponent_of_failure(author, failure)

    def next_line(self) -> tuple[int, TranscriptEntry]:
        """Return number and content of the line in the place of the next entry; raises ThreadLost or MatchAborted."""
        number = len(self.transcript.entries) + 1
        if number > len(self.file.transcript):
            raise ThreadLost("the transcript ends before the match does")
        if self._is_aborted_here and self.match.state is not MatchState.FINISHED:
            raise MatchAborted
        line = self.file.transcript[number - 1]
        if number > self._checked_count:
            self._checked_count = number
            self._check_secrecy(number, line)
        return number, line

    def find_last_question(self, player_id: str, method: str) -> Any:
        """Find the message of the latest line that asked this player by this method."""
        lines = reversed(self.file.transcript[: len(self.transcript.entries)])
        return next(line.message for line in lines if (line.player_id, line.method) == (player_id, method))

    @property
    def _is_aborted_here(self) -> bool:
        rest = self.file.transcript[len(self.transcript.entries) :]
        return self.file.is_void and bool(rest) and rest[0].method == RESULT_METHOD

    def _check_secrecy(self, number: int, line: TranscriptEntry) -> None:
        """Check that a player who has yet to answer isn't shown another's choice."""
        told = line.message.get("validation") if isinstance(line.message, dict) else None
        if line.direction != "sent" or line.player_id not in self.undecided_players or not isinstance(told, dict):
            return
        play = told.get("play")
        hides = told.get("status") == "INVALID" and isinstance(play, dict) and play.get("value") is None
        if (
            told.get("player_id") != match_dialect_of(self.file.protocol_of(line.player_id)).name_player(line.player_id)
            and not hides
        ):
            self.report("secrecy", f"line {number}: {line.player_id} is shown a choice before its own is in")

    def _compare_entry(self, entry: Mapping[str, Any]) -> None:
        number, line = self.next_line()
        expect_line(number, line, entry["direction"], entry)
        match line.direction:
            case "sent":
                self._compare_sent(number, line, entry["message"])
            case "received" if (line.tolerated or []) != entry.get("tolerated", []):
                noted, seen = quote(line.tolerated), quote(entry.get("tolerated", []))
                self.report("tolerated", f"line {number}: {noted} was tolerated; the answer shows {seen}")
            case "drawn":
                if line.step != entry["step"]:
                    self.report("draws", f"line {number}: the draw is of step {line.step!r}, not {entry['step']}")
                if not is_same_json(line.outcome, entry["outcome"]):
                    drawn, seeded = quote(line.outcome), quote(entry["outcome"])
                    self.report("draws", f"line {number}: {drawn} was drawn; the seed gives {seeded}")

    def _compare_sent(self, number: int, line: TranscriptEntry, expected: Mapping[str, Any]) -> None:
        found = line.message if isinstance(line.message, dict) else {}
        method, wire = str(line.method), self._clients[str(line.player_id)].messages.wire
        is_ours = self.file.protocol_of(line.player_id) == CURRENT_PROTOCOL
        if method == wire.method and is_ours:
            self._check_question(number, found, expected, wire.call.model_fields)
        ignored = FOREIGN_IGNORED if not is_ours else ERROR_IGNORED if method == GAME_ERROR else OWN_IGNORED
        if method == GAME_ERROR and self._follows_cut_answer(number):
            ignored |= CUT_FIELDS
        if "game_parameters" in expected:
            expected = {**expected, "game_parameters": self.file.game_parameters}  # a later version may know more
        for path, value, right in find_differences(expected, found, OWN_OPEN if is_ours else (), ignored):
            if not is_ours or value is not MISSING or path not in OWN_OPTIONAL:
                check = FIELD_CHECKS.get(path) or METHOD_CHECKS.get(method, "messages")
                self.report(check, f"line {number}: {describe_difference(path, value, right)}")

    def _check_question(
        self, number: int, found: Mapping[str, Any], expected: Mapping[str, Any], known: Collection[str]
    ) -> None:
        """Check that a question of our own protocol has no more fields than it should, and the right deadline."""
        limits, context = self.file.limits, found.get("context")
        if limits and not _is_time_given(found, limits.move_sec):
            self.report("messages", f"line {number}: the deadline isn't {limits.move_sec} s after the question")
        usual = CallContext.model_fields.keys() | expected.get("context", {}).keys()
        inside = context.keys() - usual if isinstance(context, dict) else set()
        for name in sorted(found.keys() - (expected.keys() | known) | inside):
            self.report("messages", f"line {number}: no question has {quote(name)}")

    def _follows_cut_answer(self, number: int) -> bool:
        """Whether the failure of which a line tells is of an answer that was too long to be kept."""
        before = self.file.transcript[max(0, number - 3) : number - 1]
        return any(line.direction == "failed" and is_cut(line.message) for line in before)


class RecordedClient(PlayerClient):
    """A player that answers from the match file."""

    def __init__(
        self, player: MatchPlayer, messages: PlayerMessages, context: RefereeContext, play: RecordedPlay
    ) -> None:
        self._play = play
        super().__init__(player, messages, None, play.transcript, context)

    async def request_answer(self, question: PlayerRequest) -> Any:
        answer = await super().request_answer(question)
        self._play.undecided_players.discard(self._player.player_id)
        return answer

    async def pause(self, seconds: float) -> None:
        await _pass_turn()

    def delay_after(self, error: CallFailed, attempt: int) -> float | None:
        """Allow another attempt; in files without `limits`, an open breaker ended them early."""
        return None if self._play.file.limits is None and self.breaker.is_open else 0.0

    async def exchange(self, question: PlayerRequest, call: PeerCall) -> PlayerAnswer:
        await _pass_turn()
        number, line = self._play.next_line()
        failed = line.direction == "failed"
        wanted = {"method": call.method, "player_id": self._player.player_id}
        expect_line(number, line, "failed" if failed else "received", wanted)
        if failed:
            raise self._repeat_failure(number, line, question)
        try:
            return self._repeat_answer(number, line, question)
        except (BadAnswer, IllegalMove) as error:
            problem = (
                f"line {number}: the answer of {self._player.player_id} is no legal one: {shorten(error, MAX_PHRASE)}"
            )
            self._play.report("moves", problem)
            raise ThreadLost(problem) from None

    def _repeat_answer(self, number: int, line: TranscriptEntry, question: PlayerRequest) -> PlayerAnswer:
        token = str(line.token)
        if is_cut(line.message):
            value = self._restore_cut_value(question)
            return PlayerAnswer(line.message, value, token, tuple(line.tolerated or ()))
        read = question.parse_answer(line.message)
        if token not in self._list_token_states(line.message):
            self._play.report("tolerated", f"line {number}: no such answer's token is called {quote(line.token)}")
        own = (*read.deviations, *TOKEN_DEVIATIONS.get(token, ()))
        ways = [note for note in line.tolerated or () if note not in own and note in self._list_ways(question.method)]
        return PlayerAnswer(line.message, read.value, token, (*ways, *own))

    def _restore_cut_value(self, question: PlayerRequest) -> Any:
        """Take the content of an answer that was too long to be kept from the rest of the file."""
        player_id, file, match = self._player.player_id, self._play.file, self._play.match
        if question.method == INVITATION:
            shown = (line.message for line in file.transcript if line.player_id == player_id)
            accepts = file.termination_of(player_id) != Termination.DECLINED
            return JoinAnswer(accepts, keeps_rounds=any(map(_leaves_out_rounds, shown)))
        step = len(match.moves)
        move = file.moves[step].get(player_id) if step < len(file.moves) else None
        match.check_move(player_id, move)
        return move

    def _list_ways(self, method: str) -> list[str]:
        """List the possible deviations in how an answer comes."""
        _, *others = order_forms(method, self.messages.protocol)
        called = (f"called as {form.describe_call(method)}" for form in others)
        return [*called, *(f"answer in {place}" for place in ANSWER_PLACES), CUT_DEVIATION, PUSHED_DEVIATION]

    def _list_token_states(self, answer: Any) -> tuple[str, ...]:
        """List the states that are possible for an answer's token, which is redacted."""
        if not self.dialect.has_tokens:
            return ("unknown",)
        return ("unknown", "missing", "ok", "wrong") if _has_token(answer) else ("unknown", "missing")

    def _repeat_failure(self, number: int, line: TranscriptEntry, question: PlayerRequest) -> CallFailed:
        """Return the recorded failure as the error that it was; raises ThreadLost if it is none of the protocol."""
        code = next((code for code in ErrorCode if code == line.error_code), None)
        if code is None:
            self._play.report("failures", f"line {number}: {quote(line.error_code)} is no error of the protocol")
            raise ThreadLost(f"line {number}: {quote(line.error_code)} is no error of the protocol")
        for doubt in self._list_doubts(line, code, question):
            self._play.report("failures", f"line {number}: {doubt}")
        ending = self._play.file.termination_of(self._player.player_id)
        if code is ErrorCode.TIMEOUT_ERROR:
            return PeerTimeout("", line.message)
        if ending == Termination.UNREADABLE_ANSWER and code in (ErrorCode.CONNECTION_ERROR, *TOKEN_CODES.values()):
            return PeerRefused("", line.message, code)
        if code is ErrorCode.CONNECTION_ERROR:
            return PeerUnreachable("", line.message)
        return BadAnswer("", line.message, code)

    def _list_doubts(self, line: TranscriptEntry, code: ErrorCode, question: PlayerRequest) -> Iterator[str]:
        """Yield reasons to doubt a failure: the answer is good or bad in another way, or the player had more time."""
        if line.message is None:
            waited = (line.latency_ms or 0) / 1000
            given = _shortest_wait(self._play.find_last_question(self._player.player_id, question.method))
            if code is ErrorCode.TIMEOUT_ERROR and waited < given:
                yield f"called late after {waited:g} s, but it had {given:g} s or more"
            if code not in (*SILENT, ErrorCode.INVALID_MESSAGE_FORMAT):
                yield f"no answer was refused with {code}"
        elif not is_cut(line.message) and code not in self._list_hidden_codes(line.message):
            fault = _find_fault(line.message, question)
            if code not in _list_visible_codes(line.message, fault):
                truth = f"its fault is {fault}" if fault else "it is good"
                yield f"the answer was refused with {code}, but {truth}"

    def _list_hidden_codes(self, answer: Any) -> Iterator[ErrorCode]:
        """Yield codes of faults that the file can't show: in the frame around the answer, or its token."""
        if self.dialect.has_tokens:
            yield from TOKEN_CODES.values()
        if self._play.file.strict or (self.dialect.has_tokens and _has_token(answer)):
            yield ErrorCode.INVALID_MESSAGE_FORMAT


@coroutine
def _pass_turn() -> Generator[None]:
    """Let the file decide whose line is next."""
    yield


def _drive(play: Coroutine[Any, Any, Any]) -> None:
    """Run a coroutine that waits for nothing but its turn; needs no event loop."""
    try:
        while True:
            play.send(None)
    except StopIteration:
        return


def expect_line(number: int, line: TranscriptEntry, direction: str, entry: Mapping[str, Any]) -> None:
    """Raise ThreadLost unless a line has this direction, and method, player and attempt as the entry names them."""
    method, player_id, attempt = entry.get("method"), entry.get("player_id"), entry.get("attempt", line.attempt)
    if (line.direction, line.method, line.player_id, line.attempt) != (direction, method, player_id, attempt):
        raise ThreadLost(
            f"line {number}: expected '{direction}' {method or ''} {player_id or ''}, attempt {attempt}; "
            f"found '{line.direction}' {quote(line.method)} {quote(line.player_id)}, attempt {line.attempt}"
        )


def is_cut(answer: Any) -> bool:
    """Whether an answer was too long to be kept whole."""
    return isinstance(answer, dict) and "cut_from_bytes" in answer


def _leaves_out_rounds(message: Any) -> bool:
    context = message.get("context") if isinstance(message, dict) else None
    return isinstance(context, dict) and "rounds_since" in context


def _has_token(answer: Any) -> bool:
    return isinstance(answer, dict) and answer.get("auth_token") is not None


def _find_fault(answer: Any, question: PlayerRequest) -> ErrorCode | None:
    """Parse an answer again; return the code of its fault, None if it is valid."""
    try:
        question.parse_answer(answer)
    except BadAnswer as error:
        return error.code
    return None


def _list_visible_codes(answer: Any, fault: ErrorCode | None) -> Iterator[ErrorCode]:
    """Yield codes of faults that an answer shows; one that isn't found in a reply is unreadable."""
    if fault is not None:
        yield fault
        if (refusal := find_refusal(answer)) is not None:
            yield refusal.code
        if fault not in ILLEGAL:
            yield from UNREADABLE


def _shortest_wait(message: Any) -> float:
    """Return the seconds before which an answer to this request can't be late."""
    given = _given_time(message)
    return find_stated_limit(message) - SLACK_SECONDS if given is None else given - ROUNDING_SECONDS


def _is_time_given(message: Any, seconds: float | None) -> bool:
    given = _given_time(message)
    return given is not None and seconds is not None and abs(given - seconds) < ROUNDING_SECONDS


def _given_time(message: Any) -> float | None:
    """Return the seconds from timestamp to deadline of a question of our own protocol."""
    said = message if isinstance(message, dict) else {}
    begin, end = (parse_utc(str(said.get(name))) for name in ("timestamp", "deadline"))
    return (end - begin).total_seconds() if begin and end else None
