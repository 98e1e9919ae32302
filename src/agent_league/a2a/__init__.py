"""A2A, the Agent2Agent protocol: its agents as players of a league, and our players as its agents.

Importing this package is cheap. Most of its modules import the official SDK: the extra `a2a`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from agent_league.errors import UserError

INSTALL_HINT = "pip install 'agent-league[a2a]' (in a checkout: .venv/bin/pip install -e '.[a2a]')"
CARD_PATH = "/.well-known/agent-card.json"


def has_a2a_sdk() -> bool:
    """Whether the extra is installed; imports nothing."""
    return find_spec("a2a") is not None and find_spec("sse_starlette") is not None


@contextmanager
def require_a2a_sdk() -> Iterator[None]:
    """Turn an ImportError into a UserError that says how to install the extra `a2a`."""
    try:
        yield
    except ImportError as error:
        missing = error.name.partition(".")[0] if error.name else str(error)
        raise UserError(f"A2A needs {missing}, which isn't installed; {INSTALL_HINT}") from None
