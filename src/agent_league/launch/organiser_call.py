"""Calling a manager as its organiser, with the admin token that it writes to its SHARED folder."""

from pathlib import Path
from typing import Any

from agent_league.agent.peer_client import PeerClient
from agent_league.clock import SystemClock, format_utc
from agent_league.errors import CallFailed, LeagueFailed, PeerUnreachable, UserError
from agent_league.http.client import HttpCarrier
from agent_league.protocol.envelope import Message

CALL_SECONDS = 10


async def call_as_organiser(
    message: type[Message], method: str, manager: str, league_id: str, token_file: Path, **fields: Any
) -> object:
    """Send a message with the admin token to the manager, and return its answer.

    Raises UserError if there is no usable token file, LeagueFailed if the manager doesn't answer or refuses.
    """
    written = message.write(
        sender="league_manager",
        timestamp=format_utc(SystemClock().now()),
        conversation_id=f"conv-{method.replace('_', '-')}",
        auth_token=_read_token(token_file),
        league_id=league_id,
        **fields,
    )
    carrier = HttpCarrier()
    try:
        return await PeerClient(carrier).call_method(manager, method, written.to_wire(), limit=CALL_SECONDS)
    except PeerUnreachable:
        raise LeagueFailed(f"nobody answers at {manager}; is the manager running there? (--manager URL)") from None
    except CallFailed as error:
        raise LeagueFailed(f"the manager at {manager} {error.message}") from None
    finally:
        await carrier.close()


def _read_token(token_file: Path) -> str:
    try:
        token = token_file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UserError(
            f"can't read the admin token in {token_file}: {error.strerror}; the manager writes it when it starts. "
            "Is it running, with this --home (and this --league-id or --game)?"
        ) from None
    except UnicodeDecodeError:
        token = ""
    if not token.isascii() or not token.startswith("tok-"):
        raise UserError(
            f"{token_file} holds no admin token (expected one line that begins with tok-); start the manager again, "
            "which writes it anew"
        )
    return token
