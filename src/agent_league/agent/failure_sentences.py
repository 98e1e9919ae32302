"""Sentences about failed calls for the person at the terminal: which of several failures to show, and how.

Pure; the calls themselves are made by `peer_client`.
"""

import re
from typing import Any

from agent_league.agent.jsonrpc import SHOWN_LENGTH
from agent_league.agent.peer_client import knows_no_form
from agent_league.errors import BadAnswer, CallFailed, OtherAnswer, PeerRefused, PeerTimeout, PeerUnreachable

REFUSED = (401, 403, 409, 410)
"""HTTP statuses of a final refusal, after which a retry is useless."""
HTTP_STATUS = re.compile(r"HTTP (\d{3})\b")
SENTENCES = ("reason", "message", "detail", "error_description", "error")
"""Fields in which foreign agents put the sentence of a refusal, in order of preference."""


def most_telling(failed: CallFailed) -> CallFailed:
    """Of the failures of all call forms, return one that shows that the agent understood the call, else the first."""
    tried = failed.tried or (failed,)
    return min(tried, key=lambda error: (_rank(error), error is not failed))


def _rank(error: CallFailed) -> int:
    if isinstance(error, OtherAnswer):
        return 2
    if isinstance(error, PeerRefused):
        return 3 if knows_no_form(error) else 0
    return 1 if is_refusal_of_http(error) else 3


def is_refusal_of_http(error: CallFailed) -> bool:
    """Whether the HTTP status of the answer is a final refusal."""
    return isinstance(error, BadAnswer) and http_status(error) in REFUSED


def http_status(error: CallFailed) -> int | None:
    """The HTTP status at the start of a failure's message, if any."""
    found = HTTP_STATUS.match(error.message)
    return int(found[1]) if found else None


def sentence_of(error: CallFailed) -> str:
    """Describe a failure, with the agent's own sentence if its answer holds one."""
    status, sentence = http_status(error), _sentence_in(error.answer)
    if status is None or sentence is None:
        return error.message
    return f"HTTP {status}: {sentence[:SHOWN_LENGTH]}"


def _sentence_in(answer: Any) -> str | None:
    """Find the sentence of a refusal in an answer; searches nested objects."""
    if isinstance(answer, str):
        return answer or None
    if not isinstance(answer, dict):
        return None
    return next((found for name in SENTENCES if (found := _sentence_in(answer.get(name)))), None)


def what_answers(address: str, failed: CallFailed) -> str:
    """Say in a few words what happened at an address instead of the expected answer."""
    if isinstance(failed, PeerTimeout):
        return failed.message
    if isinstance(failed, PeerUnreachable):
        cause = failed.message.removeprefix(f"can't reach {address}: ")
        is_tls = "certificate" in cause or cause.startswith("no TLS")
        return f"TLS fails: {cause}" if is_tls else f"no connection: {cause}"
    said = most_telling(failed)
    if not knows_no_form(failed):
        return f"what is there answers: {sentence_of(said)}"
    status = http_status(said)
    answer = f"HTTP {status}" if status else f"{said.message.removeprefix('refused: ')!r}"
    return f"what is there answers {answer} to every form of the question: is the address right?"
