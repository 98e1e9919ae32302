"""Every error of the package, as one tree.

    AgentLeagueError
    ├── UserError              something the user can mend; exit code 2
    │   ├── ConfigError        a file or setting: names the file and the path in it
    │   ├── PortInUse          a port on which another process listens
    │   └── HostNotOurs        a host on which this machine can't listen
    ├── DamagedFile            an agent's own file is unreadable; the agent goes on without it
    ├── LeagueFailed           a league could not be completed; exit code 1
    ├── Refusal                a league message we refuse: answered with a LEAGUE_ERROR
    ├── JsonRpcError           not a valid JSON-RPC request: answered with a JSON-RPC error
    ├── StoreFailed            the store is unavailable (storage.base); trying again may help
    ├── ManagerReplaced        another manager has taken over the league (storage.base)
    ├── ToolFailed             a tool of an MCP server gave no answer (mcp.client.failures)
    └── CallFailed             a peer gave no usable answer
        ├── PeerTimeout        no answer within the timeout (E001)
        ├── PeerUnreachable    no connection, or a lost one (E009)
        ├── PeerRefused        the answer is a LEAGUE_ERROR or a JSON-RPC error
        └── BadAnswer          the answer can't be parsed (E002, E003, E004, E010, ...)
            └── MismatchedAnswer   a well-formed reply without the expected message

`ErrorCode` has the codes of the league protocol. How errors are sent is decided elsewhere.
"""

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Any


class ErrorCode(StrEnum):
    """The error codes of `league.v2`; a member's name is sent beside its code."""

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
    def is_retryable(self) -> bool:
        """Whether the same call may succeed if it is repeated unchanged."""
        return self in (ErrorCode.TIMEOUT_ERROR, ErrorCode.CONNECTION_ERROR)


TRANSIENT_CODES = frozenset(
    {
        ErrorCode.TIMEOUT_ERROR,
        ErrorCode.CONNECTION_ERROR,
        ErrorCode.RATE_LIMIT_EXCEEDED,
        ErrorCode.INTERNAL_SERVER_ERROR,
        ErrorCode.SERVICE_UNAVAILABLE,
    }
)
"""Codes of temporary failures, after which a later call may succeed."""


class JsonRpcErrorCode(IntEnum):
    """The error codes of JSON-RPC 2.0 itself."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603


class AgentLeagueError(Exception):
    """Base of all errors that the package raises on purpose."""


class UserError(AgentLeagueError):
    """Something the user can mend."""


class ConfigError(UserError):
    """A configuration file or setting is missing or wrong."""

    def __init__(self, file: object, path: str, problem: str) -> None:
        where = f"{file}: {path}" if path else str(file)
        super().__init__(f"{where}: {problem}")
        self.file = str(file)
        self.path = path


class PortInUse(UserError):
    """A port on which another process listens."""

    def __init__(self, host: str, port: int, wanted_by: str, hint: str = "") -> None:
        super().__init__(f"Port {port} on {host} is in use, and {wanted_by} needs it. {hint}".rstrip())
        self.port = port


class HostNotOurs(UserError):
    """A host on which this machine can't listen."""

    def __init__(self, host: str, wanted_by: str, problem: str) -> None:
        super().__init__(f"--host {host}: {wanted_by} can't listen there: {problem}")
        self.problem = problem


class DamagedFile(AgentLeagueError):
    """An agent's own file no longer holds what the agent wrote; the agent goes on without it."""


class LeagueFailed(AgentLeagueError):
    """A league could not be completed."""


class Refusal(AgentLeagueError):
    """A league message that we refuse, with a code and context that help its sender to mend it."""

    def __init__(self, code: ErrorCode, message: str, **context: Any) -> None:
        super().__init__(f"{code} {code.name}: {message}")
        self.code = code
        self.message = message
        self.context: Mapping[str, Any] = context


class JsonRpcError(AgentLeagueError):
    """A request body that is not a JSON-RPC request we can serve."""

    def __init__(self, code: JsonRpcErrorCode, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class CallFailed(AgentLeagueError):
    """A peer gave no usable answer to a call."""

    code: ErrorCode = ErrorCode.CONNECTION_ERROR
    form_failures: "tuple[CallFailed, ...]" = ()
    """If several call forms were tried: the failure of each, this one included."""

    def __init__(self, message: str, answer: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.answer = answer

    @property
    def is_final(self) -> bool:
        """Whether repeating the call is pointless."""
        return False


class PeerTimeout(CallFailed):
    """No answer within the timeout."""

    code = ErrorCode.TIMEOUT_ERROR


class PeerUnreachable(CallFailed):
    """No connection, or one that was lost."""


class _CodedFailure(CallFailed):
    """A failure whose error code depends on the answer."""

    def __init__(self, message: str, answer: Any = None, code: ErrorCode = ErrorCode.INVALID_MESSAGE_FORMAT) -> None:
        super().__init__(message, answer)
        self.code = code


class PeerRefused(_CodedFailure):
    """The peer answered with a refusal."""

    @property
    def is_final(self) -> bool:
        """Whether repeating is pointless: not if the peer is busy or had an internal error."""
        fault = self.answer.get("error") if isinstance(self.answer, dict) else None
        internal = isinstance(fault, dict) and fault.get("code") == JsonRpcErrorCode.INTERNAL_ERROR
        return not internal and self.code not in TRANSIENT_CODES


class BadAnswer(_CodedFailure):
    """An answer that can't be parsed as the expected message."""


class MismatchedAnswer(BadAnswer):
    """A well-formed reply that doesn't hold the expected message."""
