"""Answers for the manager of a league that no server has at the moment: E016, to be tried again.

The refusal has the form in which the manager itself would refuse, whatever form the call has.
"""

from collections.abc import Mapping
from typing import Any

from agent_league.agent.app import MCP_PATH
from agent_league.agent.dispatcher import Dispatcher
from agent_league.clock import Clock, SystemClock
from agent_league.errors import ErrorCode, Refusal
from agent_league.log import JsonLogger
from agent_league.model.agents import Role
from agent_league.protocol.checks import Envelope
from agent_league.protocol.envelope import Sender
from agent_league.protocol.methods import METHODS, Method

RETRY_SECONDS = 2.0
"""What a caller is told to wait: a league is claimed within its lease, mostly much sooner."""
OTHER_AGENTS = ("seats", "house", "bots")
"""Below these paths answer players and referees; what calls them takes an HTTP status for an absent agent."""
MCP_HEADER = b"mcp-protocol-version"


class AbsentManager:
    """Stands for the managers of all leagues that are on their way to another server."""

    role = Role.LEAGUE_MANAGER
    sender = "league_manager"

    def __init__(self, log: JsonLogger, clock: Clock | None = None) -> None:
        handlers = {name: _refuse for name, method in METHODS.items() if Role.LEAGUE_MANAGER in method.served_by}
        self._dispatcher = Dispatcher(self, handlers, clock or SystemClock(), log)

    def refuse_frame(self, body: bytes, sentence: str) -> bytes | None:
        """Answer a frame with E016; None if it wants no answer."""
        refusal = Refusal(ErrorCode.SERVICE_UNAVAILABLE, sentence, retry_after_sec=RETRY_SECONDS)
        return self._dispatcher.refuse_requests(body, refusal)

    async def authorize(
        self, method: Method, envelope: Envelope | None, params: Mapping[str, Any], bearer: str | None
    ) -> Sender | None:
        """Never asked: no call is executed."""

    def caller(self, bearer: str | None) -> str | None:
        return None


async def _refuse(_: Any) -> Mapping[str, Any]:
    raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, "no server has this league now")


def is_manager_call(method: str, path: str, headers: Mapping[bytes, bytes]) -> bool:
    """Whether a request below a league's path is a call to its manager, which takes a refusal as its answer."""
    first = path.split("/", 2)[1]
    return method == "POST" and path.endswith(MCP_PATH) and first not in OTHER_AGENTS and MCP_HEADER not in headers
