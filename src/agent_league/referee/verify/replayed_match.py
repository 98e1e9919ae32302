"""Replaying a match from its transcript: the same state machine, driven by the recorded answers.

Every line must be the one that a referee writes at that point. Differences are reported; if a line can't be matched at
all, the replay ends. No agent is called, and draws come from the revealed seed.
"""

from collections.abc import Callable, Generator, Mapping
from functools import partial
from itertools import count
from typing import Any

from agent_league.agent.peer_client import PeerCall
from agent_league.errors import BadAnswer, ErrorCode
from agent_league.games.draw import draw_outcome
from agent_league.games.registry import Game
from agent_league.model.results import MatchState, Termination
from agent_league.protocol.v1.ids import to_v1_player_id
from agent_league.protocol.v2.match import CallContext
from agent_league.protocol.version import PROTOCOL_V1
from agent_league.referee.answers import AnswerParser, ParsedAnswer
from agent_league.referee.match import IllegalMove, Match
from agent_league.referee.match_file import MatchFile, TranscriptLine
from agent_league.referee.messages import PLAIN_WIRE, FailedAttempt
from agent_league.referee.verify.comparing import ReportProblem, is_same_json, list_mismatches
from agent_league.referee.verify.deviations import find_wrong_notes
from agent_league.referee.verify.expected_messages import build_messages, departures, is_time_given, stated_limit
from agent_league.referee.verify.failures import (
    SILENT,
    code_of,
    doubts,
    find_misreports_v1,
    find_misreports_v2,
    is_cut,
    terminations,
)
from agent_league.text import quote

Lines = Generator[None, tuple[int, TranscriptLine], Any]
"""Receives the lines of one player's request; returns its answer, or the termination."""
Reading = Callable[[str, Any], ParsedAnswer]
"""Parses a player's answer; raises BadAnswer or IllegalMove."""


class ThreadLost(Exception):
    """The transcript can't be followed from here on."""


class MatchAborted(Exception):
    """The referee aborted the match here."""


def _hides_choice(validation: Mapping[str, Any]) -> bool:
    """Whether a validation doesn't disclose the choice."""
    play = validation.get("play")
    return validation.get("status") == "INVALID" and isinstance(play, dict) and play.get("value") is None


class Retelling:
    """Replays one match and reports differences."""

    def __init__(self, file: MatchFile, game: Game, report: ReportProblem) -> None:
        self.match = Match(file.match_id, file.player_ids, game)
        self.states: list[str] = []
        self._file = file
        self._report = report
        self._read = 0
        self._failures = dict(file.attempts.failures_before)
        self._messages = build_messages(file, self.match)
        self._parsers = {
            player_id: AnswerParser(file.protocol_of(player_id), strict=file.strict, expected=words.expected_fields())
            for player_id, words in self._messages.items()
        }
        self._limits: dict[str, float] = {}
        """Timeout by method, from the file's limits or as first stated in a message."""
        self._undecided_players: set[str] = set()
        """Players that have yet to answer in this step."""
        self._check_methods()
        self._take_limits()

    def tell(self) -> None:
        """Replay from the invitations to GAME_OVER; raises ThreadLost."""
        match = self.match
        self._enter()
        for player_id in match.players:
            if self._file.termination_of(player_id) == Termination.SUSPENDED:
                match.record_failure(player_id, Termination.SUSPENDED)
        try:
            if match.state is MatchState.WAITING_FOR_PLAYERS:
                self._invitations()
            if match.state is not MatchState.FINISHED:
                self._begin()
            while match.state is not MatchState.FINISHED:
                self._enter()
                self._draw() if match.state is MatchState.DRAWING_NUMBER else self._moves()
        except MatchAborted:
            for player_id in match.players:
                match.record_failure(player_id, Termination.VOID)
        self._enter()
        for player_id in match.players:
            self._expect(self._next(), "sent", "notify_match_result", player_id, 1)
        if self._read < len(self._file.transcript):
            raise ThreadLost(f"line {self._read + 1} comes after the end of the match")

    def _check_methods(self) -> None:
        """Check that each player was asked by the game's own method, or by the plain one."""
        known = {self.match.game.wire.method, PLAIN_WIRE.method}
        for player_id, method in self._file.move_methods.items():
            if player_id not in self.match.players or method not in known:
                self._report("messages", f"nobody asks {quote(player_id)} with {quote(method)} in this match")

    def _take_limits(self) -> None:
        """Take the timeouts from the file; messages must state the same."""
        limits = self._file.limits
        if limits is None:
            return
        if limits.v1_join_sec is not None:
            self._limits["handle_game_invitation"] = limits.v1_join_sec
        if limits.move_sec is not None:
            self._limits |= {words.wire.method: limits.move_sec for words in self._messages.values()}
        if limits.attempts != self._file.attempts.max:
            self._report("failures", f"{limits.attempts} attempts are the limit, {self._file.attempts.max} were given")

    def _enter(self) -> None:
        state = str(self.match.state)
        if self.states[-1:] != [state]:
            self.states.append(state)

    def _invitations(self) -> None:
        question = "handle_game_invitation"
        answers = self._replay_requests(
            dict.fromkeys(self.match.players, question),
            lambda player_id, answer: self._parsers[player_id].parse_join_answer(answer),
            Termination.JOIN_TIMEOUT,
        )
        for player_id, answer in answers.items():
            if isinstance(answer, Termination):
                self.match.record_failure(player_id, answer)
            elif not answer:
                self.match.record_failure(player_id, Termination.DECLINED)
            else:
                self.match.record_join(player_id)
        if self.match.terminations:
            self.match.state = MatchState.FINISHED

    def _begin(self) -> None:
        """Check GAME_START for players whose protocol has it."""
        for player_id in self.match.players:
            if self._messages[player_id].write_game_start(0) is not None:
                number, line = self._next()
                limit = self._limit(self._messages[player_id].wire.method, line)
                self._check_notice(
                    (number, line), player_id, self._messages[player_id].write_game_start(limit), "messages"
                )

    def _moves(self) -> None:
        """Replay one step: players are asked at the same time, or in turn if a protocol wants that."""
        asked = self.match.players_to_move()
        answers: dict[str, Any] = {}
        received: dict[str, Any] = {}
        self._undecided_players = set(asked)
        in_turn = any(words.asks_in_turn for words in self._messages.values())
        for together in [(player_id,) for player_id in asked] if in_turn else [asked]:
            methods = {player_id: self._messages[player_id].wire.method for player_id in together}
            new = self._replay_requests(methods, self._legal_move, Termination.MOVE_TIMEOUT)
            answers |= new
            for player_id, answer in new.items():
                if not isinstance(answer, Termination):
                    self._validation(player_id, player_id, answer)
        for player_id, answer in answers.items():
            if isinstance(answer, Termination):
                self.match.record_failure(player_id, answer)
            else:
                received[player_id] = answer
                self._failures[player_id] = 0
        for author, move in received.items():
            self._validation(self.match.opponent_of(author), author, move)
        self.match.apply_moves(received)

    def _validation(self, player_id: str, author: str, move: Any) -> None:
        """Check the notice of a valid move, for players whose protocol has it."""
        call = self._messages[player_id].write_validation(author, move)
        if call is not None:
            self._check_notice(self._next(), player_id, call, "moves")

    def _legal_move(self, player_id: str, answer: Any) -> ParsedAnswer:
        is_legal = partial(self.match.is_legal_move, player_id)
        read = self._parsers[player_id].parse_move_answer(self._messages[player_id].wire, answer, is_legal)
        self.match.check_move(player_id, read.value)
        return read

    def _draw(self) -> None:
        number, line = self._next()
        self._expect((number, line), "drawn", None, None)
        step = self.match.step
        outcome = draw_outcome(self._file.draw.seed, step, self.match.chance_outcomes())
        if line.step != step:
            self._report("draws", f"line {number}: the draw is of step {line.step!r}, not {step}")
        if not is_same_json(line.outcome, outcome):
            self._report("draws", f"line {number}: {quote(line.outcome)} was drawn; the seed gives {quote(outcome)}")
        self.match.apply_draw(outcome)

    def _replay_requests(self, methods: Mapping[str, str], read: Reading, silence: Termination) -> dict[str, Any]:
        """Replay the same request to several players, by method; their lines may be interleaved."""
        open_questions = {
            player_id: self._question(player_id, method, read, silence) for player_id, method in methods.items()
        }
        answers: dict[str, Any] = {}
        for lines in open_questions.values():
            next(lines)
        while open_questions:
            number, line = self._next()
            lines_of_player = open_questions.get(line.player_id or "")
            if lines_of_player is None:
                raise ThreadLost(
                    f"line {number} ({line.direction} {quote(line.method)}) is of {quote(line.player_id)}, "
                    f"who has no question open; expected one of {', '.join(open_questions)}"
                )
            try:
                lines_of_player.send((number, line))
            except StopIteration as answered:
                answers[str(line.player_id)] = answered.value
                self._undecided_players.discard(str(line.player_id))
                del open_questions[str(line.player_id)]
        return {player_id: answers[player_id] for player_id in methods}

    def _question(self, player_id: str, method: str, read: Reading, silence: Termination) -> Lines:
        for attempt in count(1):
            asked = yield
            self._expect(asked, "sent", method, player_id, attempt)
            self._check_asked(asked, player_id)
            number, line = yield
            if line.direction == "received":
                self._expect((number, line), "received", method, player_id)
                return self._answer(number, player_id, line, read)
            self._expect((number, line), "failed", method, player_id)
            self._check_failure(asked[1], number, line, read)
            more = self._another_attempt(player_id, line, attempt)
            told = yield
            self._expect(told, "sent", "notify_game_error", player_id, 1)
            self._check_told(told, line, attempt, more=more)
            self._check_opponent_told(player_id, method, line)
            if not more:
                return self._choose_termination(player_id, line, silence)
        raise AssertionError("attempts never end by themselves")

    def _check_asked(self, asked: tuple[int, TranscriptLine], player_id: str) -> None:
        """Check that a request shows what the player may see and all its legal moves, and nothing else."""
        match, words, (number, line) = self.match, self._messages[player_id], asked
        if self._file.protocol_of(player_id) == PROTOCOL_V1:
            invites = line.method == "handle_game_invitation"
            limit = self._limit(str(line.method), line)
            self._check_words(
                asked, words.write_invitation(limit) if invites else words.write_move_request(limit), "messages"
            )
        elif line.method == words.wire.method and isinstance(line.message, dict):
            own = words.wire.question(
                match.game.game_type,
                match.view_for(player_id),
                match.legal_moves(player_id),
                match.step,
                match.role_of(player_id),
            )
            for complaint in list_mismatches(own, line.message):
                self._report("messages", f"line {number}: {complaint}")
            if self._file.limits and not is_time_given(line.message, self._file.limits.move_sec):
                given = f"{self._file.limits.move_sec} s"
                self._report("messages", f"line {number}: the deadline isn't {given} after the question")
            context = line.message.get("context")
            inside = context.keys() - CallContext.model_fields if isinstance(context, dict) else set()
            for name in sorted(line.message.keys() - words.wire.call.model_fields - own.keys() | inside):
                self._report("messages", f"line {number}: no question has {quote(name)}")

    def _check_notice(
        self, told: tuple[int, TranscriptLine], player_id: str, call: PeerCall | None, check: str
    ) -> None:
        if call is not None:
            self._expect(told, "sent", call.method, player_id, 1)
            self._check_words(told, call, check)

    def _check_words(self, told: tuple[int, TranscriptLine], call: PeerCall, check: str) -> None:
        number, line = told
        for complaint in departures(call, line.message):
            self._report(check, f"line {number}: {complaint}")

    def _limit(self, method: str, line: TranscriptLine) -> float:
        """Return the timeout of a method, which must be the same in all messages."""
        return self._limits.setdefault(method, stated_limit(line.message))

    def _answer(self, number: int, player_id: str, line: TranscriptLine, read: Reading) -> Any:
        try:
            if is_cut(line.message):
                return self._restore_cut_answer(player_id, line)
            answer = read(player_id, line.message)
        except (BadAnswer, IllegalMove) as error:
            problem = f"line {number}: the answer of {player_id} is no legal one: {str(error)[:200]}"
            self._report("moves", problem)
            raise ThreadLost(problem) from None
        for complaint in find_wrong_notes(line, answer, self._messages[player_id]):
            self._report("tolerated", f"line {number}: {complaint}")
        return answer.value

    def _restore_cut_answer(self, player_id: str, line: TranscriptLine) -> Any:
        """Take the content of an answer that was too long to be kept from the rest of the file."""
        if line.method != self._messages[player_id].wire.method:
            return self._file.termination_of(player_id) != Termination.DECLINED
        step = len(self.match.moves)
        move = self._file.moves[step].get(player_id) if step < len(self._file.moves) else None
        self.match.check_move(player_id, move)
        return move

    def _check_failure(self, asked: TranscriptLine, number: int, line: TranscriptLine, read: Reading) -> None:
        """Check that a rejected answer is bad, and that a late player had its full time."""
        words = self._messages[str(line.player_id)]
        fault = self._fault(str(line.player_id), line.message, read)
        for doubt in doubts(asked, line, fault, strict=self._file.strict, has_tokens=words.has_tokens):
            self._report("failures", f"line {number}: {doubt}")

    def _fault(self, player_id: str, answer: Any, read: Reading) -> ErrorCode | None:
        try:
            read(player_id, answer)
        except BadAnswer as error:
            return error.code
        except IllegalMove:
            return self._messages[player_id].wire.illegal
        return None

    def _another_attempt(self, player_id: str, line: TranscriptLine, attempt: int) -> bool:
        """Whether there is another attempt; in files without `limits`, an open breaker ended them early."""
        limits = self._file.attempts
        self._failures[player_id] = self._failures.get(player_id, 0) + (line.error_code in SILENT)
        is_cut = self._file.limits is None and self._failures[player_id] >= limits.failure_threshold
        return attempt < limits.max and not is_cut

    def _check_told(
        self, told: tuple[int, TranscriptLine], failure: TranscriptLine, attempt: int, *, more: bool
    ) -> None:
        number, line = told
        if self._file.protocol_of(line.player_id) == PROTOCOL_V1:
            complaints = find_misreports_v1(line.message, failure, self._messages[str(line.player_id)])
        else:
            complaints = find_misreports_v2(line.message, failure, attempt, self._file.attempts.max, more=more)
        for complaint in complaints:
            self._report("failures", f"line {number}: {complaint}")

    def _check_opponent_told(self, author: str, method: str, failure: TranscriptLine) -> None:
        """Check that the opponent, if its protocol has it, is told of an invalid play at once, without the choice."""
        opponent = self.match.opponent_of(author)
        if self._file.limits is None or method != self._messages[author].wire.method:
            return
        code = code_of(failure) or ErrorCode.INTERNAL_SERVER_ERROR
        mishap = FailedAttempt(code, "", "", failure.message, attempt=1, max_attempts=1, retry_after_sec=None)
        call = self._messages[opponent].write_opponent_failure(author, mishap)
        if call is None:
            return
        number, line = told = self._next()
        self._expect(told, "sent", call.method, opponent, 1)
        for complaint in departures(call, line.message):
            if not (is_cut(failure.message) and complaint.startswith("validation.error")):
                self._report("failures", f"line {number}: {complaint}")

    def _choose_termination(self, player_id: str, line: TranscriptLine, silence: Termination) -> Termination:
        """Return the termination after the last failure; if two are possible, the recorded one."""
        possible = terminations(line, silence)
        recorded = self._file.termination_of(player_id)
        return next((how for how in possible if how == recorded), possible[0])

    def _next(self) -> tuple[int, TranscriptLine]:
        if self._read == len(self._file.transcript):
            raise ThreadLost("the transcript ends before the match does")
        line = self._file.transcript[self._read]
        if line.method == "notify_match_result" and self.match.state is not MatchState.FINISHED and self._file.is_void:
            raise MatchAborted
        self._read += 1
        self._check_secret(self._read, line)
        return self._read, line

    def _check_secret(self, number: int, line: TranscriptLine) -> None:
        """Check that a player who has yet to answer isn't shown another's choice."""
        if line.direction != "sent" or line.player_id not in self._undecided_players:
            return
        told = line.message.get("validation") if isinstance(line.message, dict) else None
        if (
            isinstance(told, dict)
            and told.get("player_id") != to_v1_player_id(line.player_id)
            and not _hides_choice(told)
        ):
            self._report("secrecy", f"line {number}: {line.player_id} is shown a choice before its own is in")

    def _expect(
        self,
        found: tuple[int, TranscriptLine],
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
                f"found '{line.direction}' {quote(line.method)} {quote(line.player_id)}, attempt {line.attempt}"
            )
