"""The files of `SHARED/config` as models, one a file.

The seeds' fields are required where a league can't do without them; ours beside them have defaults, so that a file
written from the seeds alone is read. Fields of one's own (`x_...`) are kept; the loader refuses other unknown ones.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from agent_league.model.agents import ANY_GAME

Port = Annotated[int, Field(ge=1, le=65535)]


def _in_order(ports: tuple[int, int]) -> tuple[int, int]:
    if ports[0] > ports[1]:
        raise ValueError("Input should be [first, last] with first not above last")
    return ports


PortRange = Annotated[tuple[Port, Port], AfterValidator(_in_order)]


def port_of(endpoint: str) -> int:
    """Tell the port of an address; one that names none has that of its scheme."""
    parts = urlsplit(endpoint)
    return parts.port or (443 if parts.scheme == "https" else 80)


def with_port(endpoint: str, port: int) -> str:
    """Name another port in an address."""
    parts = urlsplit(endpoint)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return parts._replace(netloc=f"{host}:{port}").geturl()


def _has_port(endpoint: str) -> bool:
    try:
        port_of(endpoint)
    except ValueError:  # not a number, or none that a port may have
        return False
    return True


def _callable(address: str) -> str:
    if not re.fullmatch(r"https?://[^\s/]+/\S*", address) or not _has_port(address):
        raise ValueError("Input should be an address such as http://localhost:8000/mcp")
    return address


Endpoint = Annotated[str, AfterValidator(_callable)]
Seconds = Annotated[float, Field(gt=0, le=86400)]
Attempts = Annotated[int, Field(ge=1, le=100)]
Delay = Annotated[float, Field(ge=0, le=3600)]
Tiebreaker = Literal["wins", "head_to_head", "draws", "losses", "technical_losses"]
AssignmentStrategy = Literal["least_connections", "round_robin", "weighted"]
LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR"]


class Settings(BaseModel):
    """What all of them share."""

    model_config = ConfigDict(frozen=True, extra="allow")


class Network(Settings):
    base_host: str = "localhost"
    default_league_manager_port: Port = 8000
    default_referee_port_range: PortRange = (8001, 8010)
    default_player_port_range: PortRange = (8101, 8199)
    allowed_hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "::1")
    """Hosts that an agent's address may name; `*` allows every host."""
    allowed_origins: tuple[str, ...] = ()
    """Web pages of others that may call our agents, such as `http://localhost:3000`; `*` allows every page."""


class Security(Settings):
    enable_auth_tokens: bool = True
    token_length: Annotated[int, Field(ge=32, le=256)] = 32
    """Random bytes in a token."""
    token_ttl_hours: Annotated[float, Field(gt=0, le=87600)] = 24
    allow_tokenless_return: bool | None = None
    """Whether the same name at the same address may come back without its token; None: in a loopback league only."""
    verify_callers: bool = True
    """Whether players and referees answer only calls that the manager's signature vouches for."""
    require_player_tokens: bool = False
    """Whether an answer without its player's own token counts as none."""
    allow_referee_tokens: bool | None = None
    """Whether players answer a referee that shows its own token, as the seeds do; None: in a loopback league only."""
    rate_limit_per_sec: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    """So many requests a second an agent takes from one network address; None: as many as come."""
    rate_limit_burst: Annotated[int, Field(ge=1, le=1_000_000)] = 50
    """So many may come at once before the rate holds."""


class Tolerance(Settings):
    strict: bool = False
    """Whether a message in any other spelling than the protocol's own is an error, as it is for grading."""


class Timeouts(Settings):
    register_referee_timeout_sec: Seconds = 10
    register_player_timeout_sec: Seconds = 10
    game_join_ack_timeout_sec: Seconds = 5
    v1_game_join_ack_timeout_sec: Seconds = 30
    """The same for players of `league.v1`, whose invitations say 30 s."""
    move_timeout_sec: Seconds = 30
    game_over_timeout_sec: Seconds = 5
    generic_response_timeout_sec: Seconds = 10


class RetryPolicy(Settings):
    max_retries: Attempts = 3
    """Attempts in all for one question."""
    base_delay_sec: Delay = 2.0
    backoff_strategy: Literal["exponential", "fixed"] = "exponential"


class CircuitBreaker(Settings):
    failure_threshold: Annotated[int, Field(ge=1)] = 5
    probe_after_sec: Seconds = 30


class Heartbeat(Settings):
    interval_sec: Seconds = 2
    """How often a manager asks a referee that has matches in hand how they stand."""
    lease_sec: Seconds = 10
    """A referee that hasn't answered for so long loses its matches to another."""
    match_sec: Seconds = 3600
    """So long a referee may take for one match; its tokens are valid as long."""
    quiet_sec: Seconds = 30
    """An agent that has heard nothing of its manager for so long asks whether it is still there."""


class Logging(Settings):
    level: LogLevel = "INFO"
    messages: bool = True
    """Whether every message sent and received is a line of its own."""
    max_file_mib: Annotated[float, Field(gt=0, le=1_000_000)] = 32
    """A log file that would grow beyond this is renamed to `.1` and another is begun."""
    old_files: Annotated[int, Field(ge=0, le=1000)] = 3
    """So many such files are kept of each log."""

    @property
    def logger_options(self) -> dict[str, Any]:
        """How much a logger writes."""
        return {
            "level": self.level,
            "max_bytes": int(self.max_file_mib * 1024 * 1024),
            "old_files": self.old_files,
        }


class SystemConfig(Settings):
    """`system.json`"""

    schema_version: str = "1.0.0"
    system_id: str = "league_system"
    protocol_version: Literal["league.v2"] = "league.v2"
    default_league_id: str
    network: Network = Network()
    security: Security = Security()
    tolerance: Tolerance = Tolerance()
    timeouts: Timeouts = Timeouts()
    retry_policy: RetryPolicy = RetryPolicy()
    circuit_breaker: CircuitBreaker = CircuitBreaker()
    heartbeat: Heartbeat = Heartbeat()
    logging: Logging = Logging()

    def for_practice(self) -> "SystemConfig":
        """The same for an agent that answers anybody."""
        security = self.security.model_copy(update={"verify_callers": False})
        return self.model_copy(update={"security": security})


class ManagerEntry(Settings):
    display_name: str = "League Manager"
    endpoint: Endpoint
    version: str = "1.0.0"


class RefereeEntry(Settings):
    referee_id: str
    display_name: str
    endpoint: Endpoint
    version: str = "1.0.0"
    game_types: tuple[str, ...]
    max_concurrent_matches: Annotated[int, Field(ge=1)] = 2
    active: bool = True


class PlayerEntry(Settings):
    player_id: str
    display_name: str
    version: str = "1.0.0"
    game_types: tuple[str, ...]
    default_endpoint: Endpoint
    active: bool = True


class AgentsConfig(Settings):
    """`agents/agents_config.json`"""

    schema_version: str = "1.0.0"
    last_updated: str | None = None
    league_manager: ManagerEntry
    referees: tuple[RefereeEntry, ...] = ()
    players: tuple[PlayerEntry, ...] = ()

    def find_referee(self, referee_id: str | None, port: int | None) -> RefereeEntry | None:
        """Find a referee's entry by its id or, where none is given, by the port of its address."""
        if referee_id is not None:
            return next((entry for entry in self.referees if entry.referee_id == referee_id), None)
        return next((entry for entry in self.referees if port_of(entry.endpoint) == port), None)

    def find_player(self, player_id: str | None, port: int | None) -> PlayerEntry | None:
        """Find a player's entry by its id or, where none is given, by the port of its address."""
        if player_id is not None:
            return next((entry for entry in self.players if entry.player_id == player_id), None)
        return next((entry for entry in self.players if port_of(entry.default_endpoint) == port), None)

    @property
    def active_referees(self) -> tuple[RefereeEntry, ...]:
        return tuple(entry for entry in self.referees if entry.active)

    @property
    def active_players(self) -> tuple[PlayerEntry, ...]:
        return tuple(entry for entry in self.players if entry.active)


class ScoringRule(Settings):
    win_points: int = 3
    draw_points: int = 1
    loss_points: int = 0
    technical_loss_points: int = 0
    tiebreakers: tuple[Tiebreaker, ...] = ("wins", "head_to_head", "draws")


class Scheduling(Settings):
    format: Literal["round_robin", "double_round_robin"] = "round_robin"
    matches_per_round: Annotated[int, Field(ge=1)] | None = None
    """At most so many matches in one round; None: all pairs of the round."""
    rounds: Annotated[int, Field(ge=1)] | None = None
    """Only the first so many rounds are played; None: all, until everybody has met everybody."""
    overlap_rounds: bool = False
    """Whether players who are free go on into the next round while matches of the last are still played."""
    referee_assignment: AssignmentStrategy = "least_connections"


class Participants(Settings):
    min_players: Annotated[int, Field(ge=2)] = 2
    max_players: Annotated[int, Field(ge=2)] = 100


class LeagueConfig(Settings):
    """`leagues/<league_id>.json`"""

    schema_version: str = "1.0.0"
    league_id: str
    display_name: str = ""
    protocol: Literal["league.v1", "league.v2"] | None = None
    """What its players are expected to speak; it plays the rules of `league.v1` if all of them do at its start."""
    game_type: str
    game_parameters: dict[str, Any] = Field(default_factory=dict)
    """What this league plays by, where it isn't what the registry says."""
    status: str = "ACTIVE"
    created_at: str | None = None
    scoring: ScoringRule = ScoringRule()
    scheduling: Scheduling = Scheduling()
    participants: Participants = Participants()


class GameEntry(Settings):
    game_type: str
    display_name: str = ""
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)
    active: bool = True


class GamesRegistry(Settings):
    """`games/games_registry.json`"""

    schema_version: str = "1.0.0"
    games: tuple[GameEntry, ...]

    def entry(self, game_type: str) -> GameEntry:
        """What the registry says of a game; one that it doesn't name is as its own rules have it."""
        return next((game for game in self.games if game.game_type == game_type), GameEntry(game_type=game_type))

    def parameters(self, game_type: str) -> dict[str, Any]:
        """What the registry sets for a game."""
        return dict(self.entry(game_type).parameters)

    def with_parameters(self, game_type: str, parameters: Mapping[str, Any]) -> "GamesRegistry":
        """The same registry, with more set for one game."""
        entry = self.entry(game_type)
        changed = entry.model_copy(update={"parameters": {**entry.parameters, **parameters}})
        others = (game for game in self.games if game.game_type != game_type)
        return self.model_copy(update={"games": (*others, changed)})


class RefereeDefaults(Settings):
    """`defaults/referee.json`"""

    schema_version: str = "1.0.0"
    version: str = "1.0.0"
    game_types: tuple[str, ...] = (ANY_GAME,)
    max_concurrent_matches: Annotated[int, Field(ge=1)] = 2


def _model_server(address: str) -> str:
    if not re.fullmatch(r"https?://[^\s/@]+(/\S*)?", address):
        raise ValueError("Input should be an address without a password, such as http://localhost:11434/v1")
    return address


ServerName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,24}$")]


class McpServer(Settings):
    """An address with headers to send along, or a command with an environment; in short, the address or the command.

    `$NAME` in a header or in the environment stands for a variable of the player's own environment.
    """

    url: Endpoint | None = None
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    command: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _written_out(cls, given: Any) -> Any:
        if isinstance(given, str):
            return {"url": given}
        written = {"command": given} if isinstance(given, list | tuple) else given
        if isinstance(written, dict) and isinstance(command := written.get("command"), list):
            return {**written, "command": tuple(command)}
        return written

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if bool(self.url) == bool(self.command):
            raise ValueError("Input should have a url or a command, one of the two")
        if self.headers if self.command else self.env:
            raise ValueError("Input should have headers only with a url, and env only with a command")
        return self


class LlmSettings(Settings):
    """How the strategy `llm` thinks. Keys are taken from the environment alone, so there is no place for them here."""

    model: str | None = None
    """`provider:model` in pydantic-ai's words; with a `base_url`, what the server there calls it."""
    base_url: Annotated[str, AfterValidator(_model_server)] | None = None
    """A server of one's own that speaks the chat form of OpenAI: Ollama, vLLM, LM Studio, ..."""
    output: Literal["auto", "tool", "native", "prompted"] = "auto"
    """How the model gives its answer a form; auto: as pydantic-ai thinks best for it."""
    move_sec: Seconds = 20
    """So long it may think about one move, and never up to the last two seconds before the referee's deadline."""
    max_tokens: Annotated[int, Field(ge=1)] | None = 1_000_000
    """So many tokens it may use from the player's start to its end; None: any number."""
    max_cost_usd: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = 1.0
    """So much it may cost in that time, where the price is known; None: anything."""
    fallback: str = "random"
    """The strategy that plays where the model can't."""
    mcp_servers: dict[ServerName, McpServer] = Field(default_factory=dict)
    """Whose tools the model may use, by a name of one's own."""


class PlayerDefaults(Settings):
    """`defaults/player.json`"""

    schema_version: str = "1.0.0"
    version: str = "1.0.0"
    game_types: tuple[str, ...] = (ANY_GAME,)
    strategy: str = "random"
    llm: LlmSettings = LlmSettings()
