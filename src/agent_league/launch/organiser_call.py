"""Calling a manager as its organiser, with the admin token that it writes to its SHARED folder."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_league.agent.peer_client import PeerClient
from agent_league.clock import SystemClock, format_utc
from agent_league.errors import CallFailed, LeagueFailed, PeerUnreachable, UserError
from agent_league.http.client import HttpCarrier
from agent_league.protocol.envelope import Message

CALL_SECONDS = 10


class TeamsMissing(LeagueFailed):
    """The manager starts a league without some teams of its roster only if it is told to."""

    def __init__(self, teams: Sequence[Mapping[str, Any]]) -> None:
        """`teams` have their name as `team`, and `why` they are missing."""
        super().__init__("teams of the roster are missing; start without them by --yes")
        self.teams = teams


async def call_as_organiser(
    message: type[Message], method: str, manager: str, league_id: str, token_file: Path, **fields: Any
) -> object:
    """Send a message with the admin token to the manager, and return its answer.

    Raises UserError if there is no usable token file, LeagueFailed if the manager doesn't answer or refuses; if it does
    so because teams are missing, TeamsMissing.
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
        if teams := _find_missing_teams(error.answer):
            raise TeamsMissing(teams) from None
        raise LeagueFailed(f"the manager at {manager} {error.message}") from None
    finally:
        await carrier.close()


def _find_missing_teams(answer: Any) -> list[Mapping[str, Any]]:
    """Find the teams that a manager's refusal names; empty if it refuses for another reason."""
    result = answer.get("result") if isinstance(answer, dict) else None
    context = result.get("context") if isinstance(result, dict) else None
    teams = context.get("missing_teams") if isinstance(context, dict) else None
    return [one for one in teams if isinstance(one, dict)] if isinstance(teams, list) else []


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
