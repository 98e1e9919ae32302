"""The files of `SHARED/config` as pydantic models, one for each file.

Only fields that a league can't do without are required; all others have defaults, so that files with the seeds' fields
alone are valid. The user's own fields (`x_...`) are kept; the loader refuses other unknown ones.
"""

import ipaddress
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationError, field_validator, model_validator

from agent_league.config.base import ConfigModel
from agent_league.config.times import TimesConfig
from agent_league.config.webhooks import WebhookConfig
from agent_league.model.agents import ANY_GAME
from agent_league.model.grade_formula import ANY_COLUMN, parse_formula

Port = Annotated[int, Field(ge=1, le=65535)]


def _check_port_order(ports: tuple[int, int]) -> tuple[int, int]:
    if ports[0] > ports[1]:
        raise ValueError("Input should be [first, last] with first not above last")
    return ports


PortRange = Annotated[tuple[Port, Port], AfterValidator(_check_port_order)]


def port_of(endpoint: str) -> int:
    """Return the port of an address, by default that of its scheme. Raises ValueError if it is no number."""
    parts = urlsplit(endpoint)
    return parts.port or (443 if parts.scheme == "https" else 80)


def replace_port(endpoint: str, port: int) -> str:
    """Return the address with another port."""
    parts = urlsplit(endpoint)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return parts._replace(netloc=f"{host}:{port}").geturl()


def _has_valid_port(endpoint: str) -> bool:
    try:
        port_of(endpoint)
    except ValueError:  # not a number, or none that a port may have
        return False
    return True


def _check_endpoint(address: str) -> str:
    if not re.fullmatch(r"https?://[^\s/]+/\S*", address) or not _has_valid_port(address):
        raise ValueError("Input should be an address such as http://localhost:8000/mcp")
    return address


def _check_public_url(address: str) -> str:
    if not re.fullmatch(r"https?://[^\s/@?#\\]+(/[^\s?#\\]*)?", address) or not _has_valid_port(address):
        raise ValueError("Input should be an address such as https://league.example.org or https://example.org/league")
    parts = urlsplit(address)
    if re.search(r"(^|/)\.{1,2}(/|$)|//|%|/mcp/?$", parts.path):
        raise ValueError("Input should be the address of the server's front page, without '..', '//', '%' or /mcp")
    if parts.path.startswith("/leagues"):
        raise ValueError("Input should have another path than /leagues, below which the server has its leagues")
    return address.rstrip("/")


def _check_proxy(text: str) -> str:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise ValueError("Input should be an IP address or network, such as 127.0.0.1 or 10.0.0.0/24") from None
    return text


Endpoint = Annotated[str, AfterValidator(_check_endpoint)]
PublicUrl = Annotated[str, AfterValidator(_check_public_url)]
ProxyAddress = Annotated[str, AfterValidator(_check_proxy)]
Seconds = Annotated[float, Field(gt=0, le=86400)]
AttemptCount = Annotated[int, Field(ge=1, le=100)]
DelaySeconds = Annotated[float, Field(ge=0, le=3600)]
Tiebreaker = Literal[
    "wins",
    "head_to_head",
    "draws",
    "losses",
    "technical_losses",
    "buchholz",
    "buchholz_cut_1",
    "sonneborn_berger",
    "progressive",
]
SWISS_TIEBREAKERS: tuple[Tiebreaker, ...] = ("buchholz_cut_1", "buchholz", "wins")
"""Of a Swiss league whose file names none: the strength of the opponents, which differs there."""
GradeRule = Literal["points", "rank_share", "course_v1"]
AssignmentStrategy = Literal["least_connections", "round_robin", "weighted"]
LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR"]


class NetworkConfig(ConfigModel):
    base_host: str = "localhost"
    default_league_manager_port: Port = 8000
    default_referee_port_range: PortRange = (8001, 8010)
    default_player_port_range: PortRange = (8101, 8199)
    allowed_hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "::1")
    """Hosts that an agent's address may name; `*` allows every host."""
    webhook_hosts: tuple[str, ...] = ("hooks.slack.com", "discord.com")
    """Hosts beside these to which webhooks may post; `*` allows every public address."""
    allowed_origins: tuple[str, ...] = ()
    """Web pages of others that may call our agents, such as `http://localhost:3000`; `*` allows every page."""
    public_url: PublicUrl | None = None
    """The address by which others reach a server behind a proxy, with its base path; None: the one it listens on."""
    trusted_proxies: tuple[ProxyAddress, ...] = ()
    """Addresses or networks of proxies whose `X-Forwarded-For` is believed; that of all others is ignored."""

    lease_sec: Annotated[float, Field(ge=1, le=600)] = 6
    """Seconds after which the leagues of a server that has gone silent go on at another one of the same store."""

    @property
    def public_host(self) -> str | None:
        return urlsplit(self.public_url).hostname if self.public_url else None

    @property
    def public_origin(self) -> str | None:
        """Scheme, host and port of `public_url`, as browsers name the origin of its pages."""
        return "://".join(urlsplit(self.public_url)[:2]) if self.public_url else None

    @property
    def public_path(self) -> str:
        """The base path of `public_url`, without a slash at its end; empty if there is none."""
        return urlsplit(self.public_url or "").path.rstrip("/")


class SecurityConfig(ConfigModel):
    enable_auth_tokens: bool = True
    token_length: Annotated[int, Field(ge=32, le=256)] = 32
    """Random bytes in a token."""
    token_ttl_hours: Annotated[float, Field(gt=0, le=87600)] = 24
    allow_tokenless_return: bool | None = None
    """Whether an agent of the same name and address may return without its token; None: in a loopback league only."""
    verify_callers: bool = True
    """Whether players and referees answer only calls with a token that the manager has signed."""
    require_player_tokens: bool = False
    """Whether an answer without its player's own token is rejected."""
    allow_referee_tokens: bool | None = None
    """Whether players accept a referee's own token, as in the seeds; None: in a loopback league only."""
    rate_limit_per_sec: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    """Requests per second that an agent accepts from one network address; None: no limit."""
    rate_limit_burst: Annotated[int, Field(ge=1, le=1_000_000)] = 50
    """Requests that may come at once before the rate limit applies."""


class ToleranceConfig(ConfigModel):
    strict: bool = False
    """Whether every deviation from the protocol's own message form is an error, as for grading."""


class TimeoutConfig(ConfigModel):
    register_referee_timeout_sec: Seconds = 10
    register_player_timeout_sec: Seconds = 10
    game_join_ack_timeout_sec: Seconds = 5
    v1_game_join_ack_timeout_sec: Seconds = 30
    """The same for players of `league.v1`, whose invitations say 30 s."""
    move_timeout_sec: Seconds = 30
    game_over_timeout_sec: Seconds = 5
    generic_response_timeout_sec: Seconds = 10


class RetryPolicy(ConfigModel):
    max_retries: AttemptCount = 3
    """Attempts in all for one request, the first included."""
    base_delay_sec: DelaySeconds = 2.0
    backoff_strategy: Literal["exponential", "fixed"] = "exponential"


class CircuitBreakerConfig(ConfigModel):
    failure_threshold: Annotated[int, Field(ge=1)] = 5
    probe_after_sec: Seconds = 30


class HeartbeatConfig(ConfigModel):
    interval_sec: Seconds = 2
    """How often a manager asks a referee for the state of its running matches."""
    lease_sec: Seconds = 10
    """After so long without an answer, a referee's matches are given to another."""
    match_sec: Seconds = 3600
    """Longest duration of a match; its match tokens are valid as long."""
    quiet_sec: Seconds = 30
    """After so long without a call from its manager, an agent checks that the manager is still there."""


class LoggingConfig(ConfigModel):
    level: LogLevel = "INFO"
    messages: bool = True
    """Whether every message sent and received is a line of its own."""
    max_file_mib: Annotated[float, Field(gt=0, le=1_000_000)] = 32
    """A log file that would grow beyond this is renamed to `.1`."""
    old_files: Annotated[int, Field(ge=0, le=1000)] = 3
    """Renamed files that are kept of each log."""

    @property
    def logger_options(self) -> dict[str, Any]:
        """Keyword arguments for a `JsonLogger`."""
        return {
            "level": self.level,
            "max_bytes": int(self.max_file_mib * 1024 * 1024),
            "old_files": self.old_files,
        }


class SystemConfig(ConfigModel):
    """`system.json`"""

    schema_version: str = "1.0.0"
    system_id: str = "league_system"
    protocol_version: Literal["league.v2"] = "league.v2"
    default_league_id: str
    network: NetworkConfig = NetworkConfig()
    security: SecurityConfig = SecurityConfig()
    tolerance: ToleranceConfig = ToleranceConfig()
    timeouts: TimeoutConfig = TimeoutConfig()
    retry_policy: RetryPolicy = RetryPolicy()
    circuit_breaker: CircuitBreakerConfig = CircuitBreakerConfig()
    heartbeat: HeartbeatConfig = HeartbeatConfig()
    logging: LoggingConfig = LoggingConfig()
    webhooks: tuple[WebhookConfig, ...] = ()
    """Where news of all leagues of this folder are posted."""

    def without_caller_checks(self) -> "SystemConfig":
        """Return a copy for practice, in which an agent answers every caller."""
        security = self.security.model_copy(update={"verify_callers": False})
        return self.model_copy(update={"security": security})


class ManagerEntry(ConfigModel):
    display_name: str = "League Manager"
    endpoint: Endpoint
    version: str = "1.0.0"


class RefereeEntry(ConfigModel):
    referee_id: str
    display_name: str
    endpoint: Endpoint
    version: str = "1.0.0"
    game_types: tuple[str, ...]
    max_concurrent_matches: Annotated[int, Field(ge=1)] = 2
    active: bool = True


class PlayerEntry(ConfigModel):
    player_id: str
    display_name: str
    version: str = "1.0.0"
    game_types: tuple[str, ...]
    default_endpoint: Endpoint
    active: bool = True


class AgentsConfig(ConfigModel):
    """`agents/agents_config.json`"""

    schema_version: str = "1.0.0"
    last_updated: str | None = None
    league_manager: ManagerEntry
    referees: tuple[RefereeEntry, ...] = ()
    players: tuple[PlayerEntry, ...] = ()

    def find_referee(self, referee_id: str | None, port: int | None) -> RefereeEntry | None:
        """Find a referee's entry by its id or, without one, by the port of its address."""
        if referee_id is not None:
            return next((entry for entry in self.referees if entry.referee_id == referee_id), None)
        return next((entry for entry in self.referees if port_of(entry.endpoint) == port), None)

    def find_player(self, player_id: str | None, port: int | None) -> PlayerEntry | None:
        """Find a player's entry by its id or, without one, by the port of its address."""
        if player_id is not None:
            return next((entry for entry in self.players if entry.player_id == player_id), None)
        return next((entry for entry in self.players if port_of(entry.default_endpoint) == port), None)

    @property
    def active_referees(self) -> tuple[RefereeEntry, ...]:
        return tuple(entry for entry in self.referees if entry.active)

    @property
    def active_players(self) -> tuple[PlayerEntry, ...]:
        return tuple(entry for entry in self.players if entry.active)


class ScoringConfig(ConfigModel):
    win_points: int = 3
    draw_points: int = 1
    loss_points: int = 0
    technical_loss_points: int = 0
    tiebreakers: tuple[Tiebreaker, ...] = ("wins", "head_to_head", "draws")


class StageConfig(ConfigModel):
    """One stage of a league of several: a format, and how many players go on from it."""

    format: str
    settings: dict[str, Any] = Field(default_factory=dict)
    advance: Annotated[int, Field(ge=1)] | None = None
    """Players who go on to the next stage, from each group if there are groups; none after the last stage."""


class SchedulingConfig(ConfigModel):
    format: str = "round_robin"
    """The tournament format; `league formats` lists them."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """The format's own settings, such as `best_of`."""
    stages: tuple[StageConfig, ...] = ()
    """Formats one after the other, in place of `format`."""
    seeding: Literal["order", "lot", "rating"] = "order"
    """Who is the favourite: who registered first, the lot, or who has the highest of `ratings`."""
    ratings: dict[str, float] = Field(default_factory=dict)
    """Ratings of players by name, for seeding; a player without one comes after those with one."""
    seeded_players: tuple[str, ...] = ()
    """Ids of the players, the favourite first. Set when the league starts."""
    lot: str | None = None
    """Decides what nothing else does, such as the order of players who are level; None: chosen with the season."""
    matches_per_round: Annotated[int, Field(ge=1)] | None = None
    """Most matches in one round of a round robin; None: all pairs of the round."""
    rounds: Annotated[int, Field(ge=1)] | None = None
    """Number of rounds to play; None: as many as the format needs."""
    play_off: bool = False
    """Whether those who are level in first place after all tiebreakers play for it."""
    overlap_rounds: bool = False
    """Whether free players start the next round while matches of the last one are running."""
    referee_assignment: AssignmentStrategy = "least_connections"


LADDER_FORMAT = "ladder"
"""What commands call a practice ladder where they ask for a format."""


class LadderConfig(ConfigModel):
    """A practice ladder: a league that is always open, without rounds and without an end."""

    pairing: str = "nearest"
    """The ladder, which decides who meets whom; `league formats` lists them."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """The ladder's own settings, such as `house_games`."""
    interval_sec: Seconds = 120
    """How often everybody who is free is paired."""
    matches_per_hour: Annotated[int, Field(ge=1, le=100_000)] = 30
    """Matches in an hour that a player gets by itself; those that it asks for come on top."""
    requests: Literal["automatic", "accepted", "off"] = "automatic"
    """Whether a request is played at once, only if the other player accepts it, or never."""
    requests_per_hour: Annotated[int, Field(ge=1, le=100_000)] = 6
    """Matches in an hour that a player may ask for."""
    house_bots: tuple[str, ...] = ("random",)
    """Strategies that play in the manager's own process, as pass marks."""
    check: bool = True
    """Whether a player is checked when it comes, and meets only house bots until it passes."""
    keep_matches: Annotated[int, Field(ge=100, le=100_000)] = 1000
    """Finished matches that are kept one by one; older ones count only in sums."""

    @field_validator("house_bots")
    @classmethod
    def _check_house_bots(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) != len(names) or not all(re.fullmatch(r"[a-z0-9_]{1,40}", name) for name in names):
            raise ValueError("Input should be different names of strategies, such as random")
        return names


class ParticipantsConfig(ConfigModel):
    min_players: Annotated[int, Field(ge=2)] = 2
    max_players: Annotated[int, Field(ge=2)] = 100
    start_with: Annotated[int, Field(ge=2)] | None = None
    """`league serve` starts the league once so many players are there; None: on the organiser's command."""


def _check_formula(text: str) -> str:
    parse_formula(text, ANY_COLUMN)
    return text


class GradingConfig(ConfigModel):
    rule: GradeRule = "points"
    """A ready-made formula: the points, the share of players that aren't ranked higher, or the course's rules."""
    formula: Annotated[str, AfterValidator(_check_formula)] | None = None
    """One's own formula, in place of `rule`: numbers, columns, + - * /, comparisons, min, max and if."""
    points_possible: Annotated[float, Field(gt=0, le=1_000_000)] = 100
    """The most that a gradebook should expect."""
    assignment: str = ""
    """The column's name in a gradebook; empty: the league's name."""


class LeagueConfig(ConfigModel):
    """`leagues/<league_id>.json`"""

    schema_version: str = "1.0.0"
    league_id: str
    display_name: str = ""
    protocol: Literal["league.v1", "league.v2"] | None = None
    """Protocol expected of its players; if all of them use `league.v1` at the start, its rules apply."""
    game_type: str
    game_parameters: dict[str, Any] = Field(default_factory=dict)
    """Parameters that differ from the registry's."""
    status: str = "ACTIVE"
    created_at: str | None = None
    scoring: ScoringConfig = ScoringConfig()
    scheduling: SchedulingConfig = SchedulingConfig()
    participants: ParticipantsConfig = ParticipantsConfig()
    grading: GradingConfig = GradingConfig()
    ladder: LadderConfig | None = None
    """Makes the league a practice ladder; the format under `scheduling` is not used then."""
    times: TimesConfig = TimesConfig()
    webhooks: tuple[WebhookConfig, ...] = ()
    """Where news of this league are posted, beside those of `system.json`."""
    registration: Literal["open", "keys"] | None = None
    """Whether players need the sign-up address of a team; None: as soon as there is a roster, on loopback never."""
    visibility: Literal["everything", "pseudonyms", "top_ten", "members"] = "everything"
    """What visitors see: all names, pseudonyms, the names of the top ten, or nothing unless they are members."""

    @model_validator(mode="after")
    def _choose_tiebreakers(self) -> Self:
        if self.scheduling.format != "swiss" or "tiebreakers" in self.scoring.model_fields_set:
            return self
        scoring = self.scoring.model_copy(update={"tiebreakers": SWISS_TIEBREAKERS})
        object.__setattr__(self, "scoring", scoring)  # the model is frozen
        return self


class RegisteredGame(ConfigModel):
    game_type: str
    display_name: str = ""
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)
    active: bool = True


class GamesRegistry(ConfigModel):
    """`games/games_registry.json`"""

    schema_version: str = "1.0.0"
    games: tuple[RegisteredGame, ...]

    def get_entry(self, game_type: str) -> RegisteredGame:
        """Return a game's entry; an empty one if the registry doesn't name the game."""
        return next((game for game in self.games if game.game_type == game_type), RegisteredGame(game_type=game_type))

    def get_parameters(self, game_type: str) -> dict[str, Any]:
        """Return a copy of a game's parameters in the registry."""
        return dict(self.get_entry(game_type).parameters)

    def with_parameters(self, game_type: str, parameters: Mapping[str, Any]) -> "GamesRegistry":
        """Return a copy of the registry with further parameters for one game."""
        entry = self.get_entry(game_type)
        changed = entry.model_copy(update={"parameters": {**entry.parameters, **parameters}})
        others = (game for game in self.games if game.game_type != game_type)
        return self.model_copy(update={"games": (*others, changed)})


class RefereeDefaults(ConfigModel):
    """`defaults/referee.json`"""

    schema_version: str = "1.0.0"
    version: str = "1.0.0"
    game_types: tuple[str, ...] = (ANY_GAME,)
    max_concurrent_matches: Annotated[int, Field(ge=1)] = 2


def _check_model_server(address: str) -> str:
    if not re.fullmatch(r"https?://[^\s/@]+(/\S*)?", address):
        raise ValueError("Input should be an address without a password, such as http://localhost:11434/v1")
    return address


ServerName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,24}$")]


class McpServer(ConfigModel):
    """An MCP server: an address with headers, or a command with an environment. A bare address or command does too.

    `$NAME` in a header or in the environment stands for a variable of the player's own environment.
    """

    url: Endpoint | None = None
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    command: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _expand_short_form(cls, given: Any) -> Any:
        if isinstance(given, str):
            return {"url": given}
        written = {"command": given} if isinstance(given, list | tuple) else given
        if isinstance(written, dict) and isinstance(command := written.get("command"), list):
            return {**written, "command": tuple(command)}
        return written

    @model_validator(mode="after")
    def _check_url_or_command(self) -> Self:
        if bool(self.url) == bool(self.command):
            raise ValueError("Input should have a url or a command, one of the two")
        if self.headers if self.command else self.env:
            raise ValueError("Input should have headers only with a url, and env only with a command")
        return self


class ModelPrice(ConfigModel):
    """Dollars for a million tokens that a model reads (`input`) and writes (`output`)."""

    input: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    output: Annotated[float, Field(ge=0, allow_inf_nan=False)]


OWN_HEADERS = ("host", "connection", "content-length", "content-type", "transfer-encoding", "accept-encoding")


def _check_header_name(name: str) -> str:
    if name.lower() in OWN_HEADERS:
        raise ValueError(f"Input should be none of {', '.join(OWN_HEADERS)}, which the connection needs for itself")
    return name


HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$"), AfterValidator(_check_header_name)]


def _check_variable_reference(text: str) -> str:
    if not re.fullmatch(r"\$[A-Za-z_][A-Za-z0-9_]*", text):
        raise ValueError("Input should be the name of an environment variable with $ before it, such as $TEAM_KEY")
    return text


VariableReference = Annotated[str, AfterValidator(_check_variable_reference)]


class LlmSettings(ConfigModel):
    """Settings of the strategy `llm`. API keys come from the environment alone, so there is no field for them."""

    model: str | None = None
    """`provider:model` as pydantic-ai names it; with a `base_url`, the model's name on that server."""
    base_url: Annotated[str, AfterValidator(_check_model_server)] | None = None
    """A server with OpenAI's chat API: Ollama, vLLM, LM Studio, ..."""
    api_key_variable: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] = "LEAGUE_LLM_API_KEY"
    """The environment variable with the API key for the server at `base_url`, if that needs one."""
    output: Literal["auto", "tool", "native", "prompted"] = "auto"
    """How the model returns its answer; auto: as the server at `base_url` can, else pydantic-ai's choice."""
    prompt: str | None = None
    """A file with a template of the question; None: our own."""
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None
    """None: the server's own."""
    effort: Literal["minimal", "low", "medium", "high"] | None = None
    """How much a reasoning model is to think; None: as it does by itself."""
    output_tokens: Annotated[int, Field(ge=1)] | None = None
    """Tokens that one answer may have, thinking included; None: as many as the server allows."""
    headers: dict[HeaderName, VariableReference] = Field(default_factory=dict)
    """Further headers of each request: a name, and `$NAME` of the environment variable that has the value."""
    reasoning: bool = False
    """Whether the model is asked why, and what it says is sent with the move and kept in the match file."""
    price: ModelPrice | None = None
    """What the model costs; None: as the server says, or by the library's price list."""
    move_sec: Seconds = 20
    """Longest time for one move; it always ends two seconds before the referee's deadline."""
    max_tokens: Annotated[int, Field(ge=1)] | None = 1_000_000
    """Tokens that the player may use in its lifetime; None: no limit."""
    max_cost_usd: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = 1.0
    """Cost limit for the same time, if the price is known; None: no limit."""
    fallback: str = "random"
    """The strategy that plays if the model gives no move."""
    mcp_servers: dict[ServerName, McpServer] = Field(default_factory=dict)
    """MCP servers whose tools the model may use, by a name of the user's choice."""
    models: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Settings of single models, which win over the others: `llm:NAME` plays with those of NAME."""

    @field_validator("models")
    @classmethod
    def _check_models(cls, models: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        for name, settings in models.items():
            known = [field for field in cls.model_fields if field != "models"]
            if unknown := next((field for field in settings if field not in known), None):
                raise ValueError(f"Input for {name} has a setting {unknown!r}; there are {', '.join(known)}")
            try:
                cls.model_validate(settings)
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(map(str, first["loc"]))
                raise ValueError(f"Input for {name} is wrong at {where}: {first['msg']}") from None
        return models

    def for_model(self, name: str) -> "LlmSettings":
        """Return the settings of `llm:NAME`: the model of that name, with the settings that `models` has for it."""
        own = self.models.get(name, {})
        shared = self.model_dump(exclude={"models"})
        return LlmSettings.model_validate({**shared, "model": name, **own})


class PlayerDefaults(ConfigModel):
    """`defaults/player.json`"""

    schema_version: str = "1.0.0"
    version: str = "1.0.0"
    game_types: tuple[str, ...] = (ANY_GAME,)
    strategy: str = "random"
    llm: LlmSettings = LlmSettings()
