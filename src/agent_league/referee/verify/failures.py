"""Verifying the failures in a match file: each must follow from the answer and be reported to the player."""

from collections.abc import Iterator
from typing import Any

from agent_league.agent.jsonrpc import find_refusal
from agent_league.errors import ErrorCode
from agent_league.model.results import Termination
from agent_league.referee.match_file import TranscriptLine
from agent_league.referee.messages import FailedAttempt, PlayerMessages
from agent_league.referee.requests import TOKEN_CODES
from agent_league.referee.verify.comparing import list_mismatches
from agent_league.referee.verify.expected_messages import departures, shortest_wait

ILLEGAL = (ErrorCode.INVALID_PARITY_CHOICE, ErrorCode.INVALID_MOVE)
SILENT = (ErrorCode.TIMEOUT_ERROR, ErrorCode.CONNECTION_ERROR)
UNREADABLE = (ErrorCode.INVALID_MESSAGE_FORMAT, ErrorCode.MISSING_REQUIRED_FIELD)


def doubts(
    asked: TranscriptLine, failure: TranscriptLine, fault: ErrorCode | None, *, strict: bool, has_tokens: bool
) -> Iterator[str]:
    """Yield reasons to doubt a failure; `fault` is the code that parsing the answer again gives, None: it is valid."""
    answer = failure.message
    if answer is None:
        yield from _doubts_of_silence(asked, failure)
    elif not is_cut(answer) and failure.error_code not in (
        *_hidden_codes(answer, strict, has_tokens),
        *_visible_codes(answer, fault),
    ):
        truth = f"its fault is {fault}" if fault else "it is good"
        yield f"the answer was refused with {failure.error_code}, but {truth}"


def _doubts_of_silence(asked: TranscriptLine, failure: TranscriptLine) -> Iterator[str]:
    waited, given = (failure.latency_ms or 0) / 1000, shortest_wait(asked.message)
    if failure.error_code == ErrorCode.TIMEOUT_ERROR and waited < given:
        yield f"called late after {waited:g} s, but it had {given:g} s or more"
    if failure.error_code not in (*SILENT, ErrorCode.INVALID_MESSAGE_FORMAT):
        yield f"no answer was refused with {failure.error_code}"


def _hidden_codes(answer: Any, strict: bool, has_tokens: bool) -> Iterator[ErrorCode]:
    """Yield codes of faults that the file can't show: in the frame around the answer, or its token."""
    if has_tokens:
        yield from TOKEN_CODES.values()
    if strict or (has_tokens and isinstance(answer, dict) and answer.get("auth_token") is not None):
        yield ErrorCode.INVALID_MESSAGE_FORMAT


def _visible_codes(answer: Any, fault: ErrorCode | None) -> Iterator[ErrorCode]:
    """Yield codes of faults that the answer shows; one that isn't found in a reply is unreadable."""
    if fault is not None:
        yield fault
        if (refusal := find_refusal(answer)) is not None:
            yield refusal.code
        if fault not in ILLEGAL:
            yield from UNREADABLE


def find_misreports_v2(
    message: Any, failure: TranscriptLine, attempt: int, max_attempts: int, *, more: bool
) -> Iterator[str]:
    """Yield what GAME_ERROR says wrongly of the failure before it."""
    counts = {"retry_count": attempt, "max_retries": max_attempts}
    code = code_of(failure)
    named = code.name if code else None
    expected = {
        "error_code": failure.error_code,
        "error_name": named,
        "error_description": named,
        "retryable": more,
        **counts,
    }
    yield from list_mismatches(expected, message)
    yield from list_mismatches(counts, message.get("retry_info") if isinstance(message, dict) else None)


def find_misreports_v1(message: Any, failure: TranscriptLine, words: PlayerMessages) -> Iterator[str]:
    """Yield what PLAY_VALIDATION says wrongly of the failure before it."""
    code = code_of(failure)
    if code is None:
        yield f"{failure.error_code!r:.80} is no error of the protocol"
        return
    mishap = FailedAttempt(code, "", "", failure.message, attempt=1, max_attempts=1, retry_after_sec=None)
    for complaint in departures(words.write_failure(mishap), message):
        if not (is_cut(failure.message) and complaint.startswith(("validation.play", "validation.error"))):
            yield complaint


def terminations(failure: TranscriptLine, silence: Termination) -> list[Termination]:
    """List the terminations that are possible after a last failure."""
    if failure.error_code == ErrorCode.TIMEOUT_ERROR:
        return [silence]
    if failure.error_code in ILLEGAL:
        return [Termination.ILLEGAL_MOVE]
    if failure.error_code == ErrorCode.CONNECTION_ERROR:
        unreadable = [] if failure.message is None else [Termination.UNREADABLE_ANSWER]
        return [Termination.DISCONNECTED, *unreadable]
    if failure.error_code in TOKEN_CODES.values():
        return [Termination.BAD_TOKEN, Termination.UNREADABLE_ANSWER]
    return [Termination.UNREADABLE_ANSWER]


def code_of(failure: TranscriptLine) -> ErrorCode | None:
    return next((code for code in ErrorCode if code == failure.error_code), None)


def is_cut(answer: Any) -> bool:
    """Whether an answer was too long to be kept whole."""
    return isinstance(answer, dict) and "cut_from_bytes" in answer
