"""Failures of model requests: whether to retry, whether they cost anything, and how to describe them.

The reason is sent to others with the move, so it has no text of the server. The player's owner is also shown the
server's message, with keys redacted, and advice.
"""

import os
import re
from collections.abc import Iterator, Sequence

import httpx2
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, UnexpectedModelBehavior, UsageLimitExceeded

from agent_league.config import LlmSettings
from agent_league.llm.budget import BudgetExhausted, ModelTurn
from agent_league.text import MAX_SENTENCE, redact_tokens, to_printable

RETRYABLE_STATUSES = frozenset({408, 409, 425, 429})
KEY_STATUSES = frozenset({401, 403})
KEY_NAME_SUFFIXES = ("_KEY", "_TOKEN", "_SECRET")
KEY_PATTERN = re.compile(r"\b(sk|pk|rk|key|gsk|xai|hf)[-_][\w*.-]+", re.IGNORECASE)
MIN_SECRET_LENGTH = 8
"""Shorter values are words that any sentence may have."""
UNREACHABLE_ERRORS = (httpx2.ConnectError, httpx2.ConnectTimeout, ConnectionError)


def is_retryable(error: Exception) -> bool:
    """Whether a retry may succeed: the server was busy or failed, or the answer couldn't be parsed."""
    status = error.status_code if isinstance(error, ModelHTTPError) else None
    return status is None or status >= 500 or status in RETRYABLE_STATUSES


def is_unbilled(error: Exception) -> bool:
    """Whether the request can't have used tokens: it was rejected (4xx), or the server wasn't reached."""
    return error.status_code < 500 if isinstance(error, ModelHTTPError) else is_unreachable(error)


def failure_reason(error: Exception, turn: ModelTurn) -> str:
    """Describe why the model gave no move, without text of the server."""
    match error:
        case BudgetExhausted():
            return str(error)
        case UsageLimitExceeded():
            return "it asked for too many tools"
        case ModelHTTPError():
            why = f"its server answers with status {error.status_code}"
        case ModelAPIError() if is_unreachable(error):
            why = "its server can't be reached"
        case UnexpectedModelBehavior() if turn.usage.requests:
            why = "its answer held no legal move"
        case ModelAPIError() | UnexpectedModelBehavior() | IndexError():
            why = "its answer can't be read"
        case _:
            why = f"asking it failed ({type(error).__name__})"
    return f"{why}, also when asked again" if turn.attempts > 1 else why


def failure_advice(error: Exception, settings: LlmSettings) -> str:
    """A sentence for the owner on what to do about a failure; may be empty."""
    match error:
        case ModelHTTPError() if error.status_code in KEY_STATUSES:
            return (
                f"Set {settings.api_key_variable} to the key that it wants."
                if settings.base_url
                else "Look at the key that it is given."
            )
        case ModelHTTPError():
            said = extract_server_message(error.body, [text.removeprefix("$") for text in settings.headers.values()])
            hint = "Look at the name of the model, and at the address." if error.status_code == 404 else ""
            return " ".join(filter(None, [f'It says: "{said}".' if said else "", hint]))
        case ModelAPIError() if settings.base_url and is_unreachable(error):
            return f"Nobody answers at {settings.base_url}."
        case UnexpectedModelBehavior() if settings.output in ("tool", "native") or not settings.base_url:
            return 'A model that can\'t call tools may do better with llm.output "prompted".'
        case _:
            return ""


def extract_server_message(body: object, secret_variables: Sequence[str] = ()) -> str:
    """Extract the message from the body of an error response: one line, shortened, keys redacted.

    Redacted are the values of `secret_variables` and of all environment variables that are named like a key.
    """
    while isinstance(body, dict):
        body = body.get("error") or body.get("message") or body.get("detail")
    if not isinstance(body, str):
        return ""
    named = {name for name in os.environ if name.endswith(KEY_NAME_SUFFIXES)} | set(secret_variables)
    secrets = [value for name in named if len(value := os.environ.get(name, "").strip()) >= MIN_SECRET_LENGTH]
    text = KEY_PATTERN.sub("...", str(redact_tokens(" ".join(body.split()), secrets)))
    return to_printable(text, MAX_SENTENCE)


def is_unreachable(error: BaseException) -> bool:
    """Whether no connection to the server came about."""
    return any(isinstance(cause, UNREACHABLE_ERRORS) for cause in _iterate_causes(error))


def _iterate_causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
