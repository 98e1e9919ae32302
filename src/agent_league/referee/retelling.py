"""A match told again from its transcript: the same state machine, driven by what the file says was said.

Every line must be the one that a referee writes at that point. What differs is named; where the thread is lost, the
retelling ends. Nobody is called, and draws come from the revealed seed.
"""

from collections.abc import Callable, Generator, Sequence
from itertools import count
from typing import Any

import orjson

from agent_league.clock import parse_utc
from agent_league.errors import BadAnswer, ErrorCode
from agent_league.games.draw import draw
from agent_league.games.registry import Game
from agent_league.model.results import MatchState, Termination
from agent_league.referee.dialect import read_join, read_move
from agent_league.referee.match import IllegalMove, Match
from agent_league.referee.match_file import Line, MatchFile

Report = Callable[[str, str], None]
"""Takes what was checked and what is wrong with it."""
Lines = Generator[None, tuple[int, Line], Any]
"""Takes the lines of one player's question; returns its answer, or how the player was lost."""

ILLEGAL = (ErrorCode.INVALID_PARITY_CHOICE, ErrorCode.INVALID_MOVE)
UNSEEN = (ErrorCode.INVALID_MESSAGE_FORMAT, ErrorCode.AUTH_TOKEN_MISSING, ErrorCode.AUTH_TOKEN_INVALID)
"""Faults that may lie in what the transcript doesn't hold: the frame around an answer, and its token."""
ROUNDING_SECONDS = 1.5
"""Moments in messages are cut to the second."""


class ThreadLost(Exception):
    """The transcript is not that of a match from here on."""


class Aborted(Exception):
    """The referee gave up in the middle."""


class Retelling:
    """One match, told again."""

    def __init__(self, file: MatchFile, game: Game, report: Report) -> None:
        self.match = Match(file.match_id, file.pair, game)
        self.states: list[str] = []
        self._file = file
        self._report = report
        self._read = 0
        self._failures = dict(file.attempts.failures_before)

    def tell(self) -> None:
        """From the invitations to GAME_OVER; raises ThreadLost."""
        match = self.match
        self._enter()
        for player_id in match.players:
            if self._file.termination(player_id) == Termination.SUSPENDED:
                match.fail(player_id, Termination.SUSPENDED)
        try:
            if match.state is MatchState.WAITING_FOR_PLAYERS:
                self._invitations()
            while match.state is not MatchState.FINISHED:
                self._enter()
                self._draw() if match.state is MatchState.DRAWING_NUMBER else self._moves()
        except Aborted:
            for player_id in match.players:
                match.fail(player_id, Termination.VOID)
        self._enter()
        for player_id in match.players:
            self._expect(self._next(), "sent", "notify_match_result", player_id, 1)
        if self._read < len(self._file.transcript):
            raise ThreadLost(f"line {self._read + 1} comes after the end of the match")

    def _enter(self) -> None:
        state = str(self.match.state)
        if self.states[-1:] != [state]:
            self.states.append(state)

    def _invitations(self) -> None:
        question = "handle_game_invitation"
        answers = self._asked(
            self.match.players, question, lambda _, answer: read_join(answer), Termination.JOIN_TIMEOUT
        )
        for player_id, answer in answers.items():
            if isinstance(answer, Termination):
                self.match.fail(player_id, answer)
            elif not answer:
                self.match.fail(player_id, Termination.DECLINED)
            else:
                self.match.join(player_id)
        if self.match.terminations:
            self.match.state = MatchState.FINISHED

    def _moves(self) -> None:
        asked = self.match.to_move()
        answers = self._asked(asked, self.match.game.wire.method, self._legal_move, Termination.MOVE_TIMEOUT)
        received = {}
        for player_id, answer in answers.items():
            if isinstance(answer, Termination):
                self.match.fail(player_id, answer)
            else:
                received[player_id] = answer
                self._failures[player_id] = 0
        self.match.play(received)

    def _legal_move(self, player_id: str, answer: Any) -> Any:
        move = read_move(self.match, answer)
        self.match.check(player_id, move)
        return move

    def _draw(self) -> None:
        number, line = self._next()
        self._expect((number, line), "drawn", None, None)
        step = self.match.step
        outcome = draw(self._file.draw.seed, step, self.match.chances())
        if line.step != step:
            self._report("draws", f"line {number}: the draw is of step {line.step!r}, not {step}")
        if not same(line.outcome, outcome):
            self._report("draws", f"line {number}: {quoted(line.outcome)} was drawn; the seed gives {quoted(outcome)}")
        self.match.drawn(outcome)

    def _asked(
        self, players: Sequence[str], method: str, read: Callable[[str, Any], Any], silence: Termination
    ) -> dict[str, Any]:
        """The answers to one question, in the players' order; their lines may come in any mixture."""
        open_questions = {player_id: self._question(player_id, method, read, silence) for player_id in players}
        answers: dict[str, Any] = {}
        for lines in open_questions.values():
            next(lines)
        while open_questions:
            number, line = self._next()
            lines_of_player = open_questions.get(line.player_id or "")
            if lines_of_player is None:
                raise ThreadLost(
                    f"line {number} ({line.direction} {quoted(line.method)}) is of {quoted(line.player_id)}, "
                    f"who has no question open; expected one of {', '.join(open_questions)}"
                )
            try:
                lines_of_player.send((number, line))
            except StopIteration as answered:
                answers[str(line.player_id)] = answered.value
                del open_questions[str(line.player_id)]
        return {player_id: answers[player_id] for player_id in players}

    def _question(self, player_id: str, method: str, read: Callable[[str, Any], Any], silence: Termination) -> Lines:
        for attempt in count(1):
            asked = yield
            self._expect(asked, "sent", method, player_id, attempt)
            self._check_asked(asked, player_id)
            number, line = yield
            if line.direction == "received":
                self._expect((number, line), "received", method, player_id)
                return self._answer(number, player_id, line, read)
            self._expect((number, line), "failed", method, player_id)
            self._check_failure(asked[1], number, line, lambda answer: read(player_id, answer))
            more = self._another_attempt(player_id, line, attempt)
            told = yield
            self._expect(told, "sent", "notify_game_error", player_id, 1)
            self._check_game_error(told, line, attempt, more=more)
            if not more:
                return self._how(player_id, line, silence)
        raise AssertionError("attempts never end by themselves")

    def _check_asked(self, asked: tuple[int, Line], player_id: str) -> None:
        """A question shows the player what it may see, and all that it may do."""
        match, (number, line) = self.match, asked
        if line.method != match.game.wire.method or not isinstance(line.message, dict):
            return
        own = match.game.wire.question(
            match.game.game_type, match.view(player_id), match.options(player_id), match.step, match.role(player_id)
        )
        for name, value in own.items():
            if not same(line.message.get(name), value):
                found = quoted(line.message.get(name))
                self._report("messages", f"line {number}: {name} is {found}; the rules make it {quoted(value)}")

    def _answer(self, number: int, player_id: str, line: Line, read: Callable[[str, Any], Any]) -> Any:
        try:
            return read(player_id, self._in_full(player_id, line.message))
        except (BadAnswer, IllegalMove) as error:
            problem = f"line {number}: the answer of {player_id} is no legal one: {str(error)[:200]}"
            self._report("moves", problem)
            raise ThreadLost(problem) from None

    def _in_full(self, player_id: str, message: Any) -> Any:
        """An answer; one that was too long to be kept says what the rest of the file says of it."""
        if not _is_cut(message):
            return message
        step = len(self.match.moves)
        move = self._file.moves[step].get(player_id) if step < len(self._file.moves) else None
        accept = self._file.termination(player_id) != Termination.DECLINED
        return {"accept": accept, "parity_choice": move, "move_data": move}

    def _check_failure(self, asked: Line, number: int, line: Line, read: Callable[[Any], Any]) -> None:
        """An answer that is called bad must be bad, and a player that is called late must have had its time."""
        if line.message is None:
            self._check_lateness(asked, number, line)
        elif line.error_code not in UNSEEN:
            try:
                read(line.message)
            except (BadAnswer, IllegalMove):
                return
            self._report("failures", f"line {number}: the answer was refused with {line.error_code}, but it is good")

    def _check_lateness(self, asked: Line, number: int, line: Line) -> None:
        message = asked.message if isinstance(asked.message, dict) else {}
        begin, end = (parse_utc(str(message.get(name))) for name in ("timestamp", "deadline"))
        if line.error_code != ErrorCode.TIMEOUT_ERROR or begin is None or end is None:
            return
        given = (end - begin).total_seconds()
        waited = (line.latency_ms or 0) / 1000
        if waited < given - ROUNDING_SECONDS:
            self._report("failures", f"line {number}: called late after {waited:g} s, but it had {given:g} s")

    def _another_attempt(self, player_id: str, line: Line, attempt: int) -> bool:
        limits = self._file.attempts
        silent = line.error_code in (ErrorCode.TIMEOUT_ERROR, ErrorCode.CONNECTION_ERROR)
        self._failures[player_id] = self._failures.get(player_id, 0) + silent
        return attempt < limits.max and self._failures[player_id] < limits.failure_threshold

    def _check_game_error(self, told: tuple[int, Line], failure: Line, attempt: int, *, more: bool) -> None:
        number, line = told
        message = line.message if isinstance(line.message, dict) else {}
        info = message.get("retry_info")
        info = info if isinstance(info, dict) else {}
        said = {**message, **{f"retry_info.{name}": value for name, value in info.items()}}
        named = next((code.name for code in ErrorCode if code == failure.error_code), None)
        counts = {"retry_count": attempt, "max_retries": self._file.attempts.max}
        expected = {
            "error_code": failure.error_code,
            "error_name": named,
            "error_description": named,
            "retryable": more,
            **counts,
            **{f"retry_info.{name}": value for name, value in counts.items()},
        }
        for name, value in expected.items():
            if not same(said.get(name), value):
                found = quoted(said.get(name))
                self._report("failures", f"line {number}: {name} is {found}; the failure before it makes it {value!r}")

    def _how(self, player_id: str, line: Line, silence: Termination) -> Termination:
        """What the last failure is called; where it may be called two things, the file chooses."""
        possible = _terminations(line, silence)
        recorded = self._file.termination(player_id)
        return next((how for how in possible if how == recorded), possible[0])

    def _next(self) -> tuple[int, Line]:
        if self._read == len(self._file.transcript):
            raise ThreadLost("the transcript ends before the match does")
        line = self._file.transcript[self._read]
        if line.method == "notify_match_result" and self.match.state is not MatchState.FINISHED and self._file.is_void:
            raise Aborted
        self._read += 1
        return self._read, line

    def _expect(
        self,
        found: tuple[int, Line],
        direction: str,
        method: str | None,
        player_id: str | None,
        attempt: int | None = None,
    ) -> None:
        number, line = found
        wanted = (direction, method, player_id, attempt or line.attempt)
        if (line.direction, line.method, line.player_id, line.attempt) != wanted:
            which = f", attempt {attempt}" if attempt else ""
            raise ThreadLost(
                f"line {number}: expected '{direction}' {method or ''} {player_id or ''}{which}; "
                f"found '{line.direction}' {quoted(line.method)} {quoted(line.player_id)}, attempt {line.attempt}"
            )


def _terminations(line: Line, silence: Termination) -> list[Termination]:
    if line.error_code == ErrorCode.TIMEOUT_ERROR:
        return [silence]
    if line.error_code in ILLEGAL:
        return [Termination.ILLEGAL_MOVE]
    if line.error_code == ErrorCode.CONNECTION_ERROR:
        unreadable = [] if line.message is None else [Termination.UNREADABLE_ANSWER]
        return [Termination.DISCONNECTED, *unreadable]
    if line.error_code in (ErrorCode.AUTH_TOKEN_MISSING, ErrorCode.AUTH_TOKEN_INVALID):
        return [Termination.BAD_TOKEN, Termination.UNREADABLE_ANSWER]
    return [Termination.UNREADABLE_ANSWER]


def _is_cut(message: Any) -> bool:
    return isinstance(message, dict) and "cut_from_bytes" in message


def same(one: Any, other: Any) -> bool:
    """Whether two values are written alike: 1 is not true, and a tuple is a list."""
    return _written(one) == _written(other)


def _written(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)


def quoted(value: Any) -> str:
    """A value of the file, short and with nothing that a terminal would obey."""
    return f"{value!r:.80}"
