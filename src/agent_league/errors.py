"""Every error of the package, drawn once.

    AgentLeagueError
    ├── UserError              something the person at the keyboard can mend; exit code 2
    │   ├── ConfigError        a file or setting: names the file and the path in it
    │   └── PortInUse          an address that somebody else listens on
    ├── DamagedFile            a file of an agent's own holds nothing of use; it goes on without it
    ├── LeagueFailed           a league could not be played to its end; exit code 1
    ├── Refusal                a league message we refuse: answered with a LEAGUE_ERROR
    ├── FrameError             not even a JSON-RPC request: answered with a JSON-RPC error
    ├── StoreFailed            the store can't be used now (storage.base); trying again may help
    ├── Deposed                another manager has taken over the league (storage.base)
    ├── ToolFailed             a tool of an MCP server gave no answer (transport.mcp_client.faults)
    └── CallFailed             a peer gave no usable answer
        ├── PeerTimeout        none within the limit (E001)
        ├── PeerUnreachable    none at all (E009)
        ├── PeerRefused        a refusal: a LEAGUE_ERROR or a JSON-RPC error
        └── BadAnswer          one that can't be read as the answer (E002, E003, E004, E010, ...)
            └── OtherAnswer    one that is in order, but answers something else

`ErrorCode` holds the codes of the league protocol. Nothing here knows how an error travels.
"""

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Any


class ErrorCode(StrEnum):
    """The error codes of `league.v2`; a member's name is the NAME that travels beside the code."""

    TIMEOUT_ERROR = "E001"
    INVALID_MESSAGE_FORMAT = "E002"
    MISSING_REQUIRED_FIELD = "E003"
    INVALID_PARITY_CHOICE = "E004"
    PLAYER_NOT_REGISTERED = "E005"
    MATCH_NOT_FOUND = "E007"
    LEAGUE_NOT_FOUND = "E008"
    CONNECTION_ERROR = "E009"
    INVALID_MOVE = "E010"
    AUTH_TOKEN_MISSING = "E011"  # noqa: S105 - a code, not a secret
    AUTH_TOKEN_INVALID = "E012"  # noqa: S105 - a code, not a secret
    REFEREE_NOT_REGISTERED = "E013"
    RATE_LIMIT_EXCEEDED = "E014"
    INTERNAL_SERVER_ERROR = "E015"
    SERVICE_UNAVAILABLE = "E016"
    DUPLICATE_REGISTRATION = "E017"
    PROTOCOL_VERSION_MISMATCH = "E018"
    INVALID_TIMESTAMP = "E021"

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed when it is simply tried again."""
        return self in (ErrorCode.TIMEOUT_ERROR, ErrorCode.CONNECTION_ERROR)


PASSING = frozenset(
    {
        ErrorCode.TIMEOUT_ERROR,
        ErrorCode.CONNECTION_ERROR,
        ErrorCode.RATE_LIMIT_EXCEEDED,
        ErrorCode.INTERNAL_SERVER_ERROR,
        ErrorCode.SERVICE_UNAVAILABLE,
    }
)
"""What may be different the next time."""


class FrameCode(IntEnum):
    """The error codes of JSON-RPC 2.0 itself."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603


class AgentLeagueError(Exception):
    """The root: catching it catches everything the package raises on purpose."""


class UserError(AgentLeagueError):
    """Something the person at the keyboard can mend."""


class ConfigError(UserError):
    """A configuration file or setting is missing or wrong."""

    def __init__(self, file: object, path: str, problem: str) -> None:
        where = f"{file}: {path}" if path else str(file)
        super().__init__(f"{where}: {problem}")
        self.file = str(file)
        self.path = path


class PortInUse(UserError):
    """An address that somebody else listens on."""

    def __init__(self, host: str, port: int, wanted_by: str, hint: str = "") -> None:
        super().__init__(f"Port {port} on {host} is in use, and {wanted_by} needs it. {hint}".rstrip())
        self.port = port


class DamagedFile(AgentLeagueError):
    """A file that an agent wrote for itself holds something else now; whoever needs it goes on without it."""


class LeagueFailed(AgentLeagueError):
    """A league could not be played to its end."""


class Refusal(AgentLeagueError):
    """A league message that we refuse, with what the sender needs to mend it."""

    def __init__(self, code: ErrorCode, message: str, **context: Any) -> None:
        super().__init__(f"{code} {code.name}: {message}")
        self.code = code
        self.message = message
        self.context: Mapping[str, Any] = context


class FrameError(AgentLeagueError):
    """A body that is not a JSON-RPC request we can serve."""

    def __init__(self, code: FrameCode, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class CallFailed(AgentLeagueError):
    """A peer gave no usable answer to a call."""

    code: ErrorCode = ErrorCode.CONNECTION_ERROR
    tried: "tuple[CallFailed, ...]" = ()
    """How each form of the call failed, where several were tried; this failure is among them."""

    def __init__(self, message: str, answer: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.answer = answer

    @property
    def is_final(self) -> bool:
        """Whether asking again is in vain."""
        return False


class PeerTimeout(CallFailed):
    """No answer within the limit."""

    code = ErrorCode.TIMEOUT_ERROR


class PeerUnreachable(CallFailed):
    """No connection, or one that broke off."""


class _CodedFailure(CallFailed):
    """A failure whose code depends on what came."""

    def __init__(self, message: str, answer: Any = None, code: ErrorCode = ErrorCode.INVALID_MESSAGE_FORMAT) -> None:
        super().__init__(message, answer)
        self.code = code


class PeerRefused(_CodedFailure):
    """The peer understood that it was asked, and refused."""

    @property
    def is_final(self) -> bool:
        """Not where the peer is busy, or was itself at fault."""
        fault = self.answer.get("error") if isinstance(self.answer, dict) else None
        internal = isinstance(fault, dict) and fault.get("code") == FrameCode.INTERNAL_ERROR
        return not internal and self.code not in PASSING


class BadAnswer(_CodedFailure):
    """An answer that can't be read as the one we asked for."""


class OtherAnswer(BadAnswer):
    """An answer in good order that isn't the one we asked for."""
