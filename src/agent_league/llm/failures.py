"""What it means that a model gave no move: whether to ask again, what it cost, and what to say of it.

Why goes with the move to others, so it is in words of our own. The player's owner is told more: the server's own
sentence, where it holds no key, and what to do.
"""

import os
import re
from collections.abc import Iterator

import httpx2
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, UnexpectedModelBehavior, UsageLimitExceeded

from agent_league.config import LlmSettings
from agent_league.llm.budget import Spent
from agent_league.llm.model import KEY
from agent_league.llm.turn import Turn
from agent_league.log import redacted
from agent_league.model.names import printable

PASSING_STATUSES = frozenset({408, 409, 425, 429})
KEY_STATUSES = frozenset({401, 403})
KEY_NAMES = ("_KEY", "_TOKEN", "_SECRET")
LOOKS_LIKE_A_KEY = re.compile(r"\b(sk|pk|rk|key|gsk|xai|hf)[-_][\w*.-]+", re.IGNORECASE)
LONGEST_SENTENCE = 300
UNREACHABLE = (httpx2.ConnectError, httpx2.ConnectTimeout, ConnectionError)


def may_pass(error: Exception) -> bool:
    """Whether another question may be answered: by a server that was busy, or a model that wrote what can't be read."""
    status = error.status_code if isinstance(error, ModelHTTPError) else None
    return status is None or status >= 500 or status in PASSING_STATUSES


def is_free(error: Exception) -> bool:
    """Whether nobody can have thought about the question: it was refused, or it reached no one."""
    return error.status_code < 500 if isinstance(error, ModelHTTPError) else _is_unreachable(error)


def reason(error: Exception, turn: Turn) -> str:
    """Why there is no move."""
    match error:
        case Spent():
            return str(error)
        case UsageLimitExceeded():
            return "it asked for too many tools"
        case ModelHTTPError():
            why = f"its server answers with status {error.status_code}"
        case ModelAPIError() if _is_unreachable(error):
            why = "its server can't be reached"
        case UnexpectedModelBehavior() if turn.spent.requests:
            why = "its answer held no legal move"
        case ModelAPIError() | UnexpectedModelBehavior():
            why = "its answer can't be read"
        case _:
            why = f"asking it failed ({type(error).__name__})"
    return f"{why}, also when asked again" if turn.attempts > 1 else why


def advice(error: Exception, settings: LlmSettings) -> str:
    """What the owner may do about it; empty where there is nothing to say."""
    match error:
        case ModelHTTPError() if error.status_code in KEY_STATUSES:
            return f"Set {KEY} to the key that it wants." if settings.base_url else "Look at the key that it is given."
        case ModelHTTPError():
            said = sentence(error.body)
            hint = "Look at the name of the model, and at the address." if error.status_code == 404 else ""
            return " ".join(filter(None, [f'It says: "{said}".' if said else "", hint]))
        case ModelAPIError() if settings.base_url and _is_unreachable(error):
            return f"Nobody answers at {settings.base_url}."
        case UnexpectedModelBehavior() if settings.output != "prompted":
            return 'A model that can\'t call tools may do better with llm.output "prompted".'
        case _:
            return ""


def sentence(body: object) -> str:
    """What a server says of an error, in one line and without keys."""
    while isinstance(body, dict):
        body = body.get("error") or body.get("message") or body.get("detail")
    if not isinstance(body, str):
        return ""
    secrets = [value for name, value in os.environ.items() if name.endswith(KEY_NAMES) and len(value) >= 8]
    text = LOOKS_LIKE_A_KEY.sub("...", str(redacted(" ".join(body.split()), secrets)))
    return printable(text)[:LONGEST_SENTENCE]


def _is_unreachable(error: BaseException) -> bool:
    return any(isinstance(cause, UNREACHABLE) for cause in _causes(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
