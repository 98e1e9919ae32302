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
from agent_league.model.looks import COLOR_FORM, SIGN_EXPECTED, is_sign

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
Points = Annotated[int, Field(ge=-1_000_000, le=1_000_000)]
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
    """The host in the addresses our agents hand in."""
    default_league_manager_port: Port = 8000
    """Where the manager is, on this machine; `league_manager.endpoint` in `agents_config.json` must say the same."""
    default_referee_port_range: PortRange = (8001, 8010)
    """First and last port of referees; `league run` begins to count at the first."""
    default_player_port_range: PortRange = (8101, 8199)
    """First and last port of players, likewise."""
    allowed_hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "::1")
    """Hosts that an agent's address may name, and by which ours may be called (beside `network.base_host` and their
    own address); `*` allows all."""
    webhook_hosts: tuple[str, ...] = ("hooks.slack.com", "discord.com")
    """The hosts, beside `network.allowed_hosts`, to which webhooks may post (docs/weeks.md#webhooks); `*`: every
    public address."""
    allowed_origins: tuple[str, ...] = ()
    """Web pages of others that may call our agents, such as `http://localhost:3000`; our own pages always may; `*`
    allows all."""
    public_url: PublicUrl | None = None
    """The address by which others reach a server behind a proxy, with its base path, such as
    `https://example.org/league`; host, scheme and prefix of all links and addresses come from it, never from a
    header."""
    links: bool = True
    """Whether agents that `league run` starts are called over links, one connection for all agents of a process, by
    those that know them; by others as ever."""
    trusted_proxies: tuple[ProxyAddress, ...] = ()
    """Addresses or networks of proxies whose `X-Forwarded-For` is believed, such as `127.0.0.1`; of several
    addresses in it the last that isn't a trusted proxy counts; that of all others is ignored."""

    lease_sec: Annotated[float, Field(ge=1, le=600)] = 6
    """Seconds after which the leagues of a server that has gone silent go on at another one of the same PostgreSQL."""

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
    """Whether calls to the manager need the caller's token."""
    token_length: Annotated[int, Field(ge=32, le=256)] = 32
    """Random bytes in a token."""
    token_ttl_hours: Annotated[float, Field(gt=0, le=87600)] = 24
    """Hours that a token is valid; in a league with `times`, and on a ladder, it is valid for a year."""
    allow_tokenless_return: bool | None = None
    """Whether the same name at the same address may register again without its token; None: in a loopback league
    only, and not where its owner registered with an `application_key`, as ours do."""
    verify_callers: bool = True
    """Whether players and referees answer only whom the manager's signature vouches for (`league player --practice`
    answers anybody)."""
    require_player_tokens: bool = False
    """Whether an answer without its player's own token counts as none (E011, E012)."""
    allow_referee_tokens: bool | None = None
    """Whether players answer a referee that shows its own token, as older documents of the protocol have it,
    instead of the match token; None: in a loopback league only."""
    rate_limit_per_sec: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    """Calls that one address may make each second, E014 beyond that; None: any number."""
    rate_limit_burst: Annotated[int, Field(ge=1, le=1_000_000)] = 50
    """Calls that an address may make at once before that counts."""


class ToleranceConfig(ConfigModel):
    strict: bool = False
    """Whether a message in another form than the protocol's own is an error, as for grading (`--strict`); see
    docs/interoperation.md."""


class TimeoutConfig(ConfigModel):
    register_referee_timeout_sec: Seconds = 10
    """Seconds for the answer to a referee's registration."""
    register_player_timeout_sec: Seconds = 10
    """Seconds for the answer to a player's registration."""
    game_join_ack_timeout_sec: Seconds = 5
    """Seconds for an answer to an invitation."""
    v1_game_join_ack_timeout_sec: Seconds = 30
    """The same for players of `league.v1`, whose invitations say so."""
    move_timeout_sec: Seconds = 30
    """Seconds for a move."""
    game_over_timeout_sec: Seconds = 5
    """Seconds for taking notice of a result."""
    generic_response_timeout_sec: Seconds = 10
    """Seconds for everything else."""

    def limit(self, most: float | None) -> "TimeoutConfig":
        """Return the same with none longer than `most` seconds; None: no limit."""
        if most is None:
            return self
        return self.model_copy(
            update={name: min(most, value) for name, value in self if name in TimeoutConfig.model_fields}
        )


class RetryPolicy(ConfigModel):
    max_retries: AttemptCount = 3
    """Attempts in all for one question."""
    base_delay_sec: DelaySeconds = 2.0
    """Seconds before the second attempt."""
    backoff_strategy: Literal["exponential", "fixed"] = "exponential"
    """Whether that time doubles with each attempt, or stays."""


class CircuitBreakerConfig(ConfigModel):
    failure_threshold: Annotated[int, Field(ge=1)] = 5
    """Unanswered calls in a row that suspend an agent."""
    probe_after_sec: Seconds = 30
    """Seconds until a suspended agent is asked whether it is back; doubles each time."""


class HeartbeatConfig(ConfigModel):
    interval_sec: Seconds = 2
    """How often a referee that has matches running is asked how they stand."""
    lease_sec: Seconds = 10
    """After so long without an answer its matches go to another."""
    match_sec: Seconds = 3600
    """How long a referee may take for one match (its tokens are valid three times as long); overdue twice with no
    other referee, a match is void; one that isn't ours has as long as a match can take with all attempts (210 s as
    shipped)."""
    quiet_sec: Seconds = 30
    """After so long without a word from the manager an agent asks whether it is still there."""


class LoggingConfig(ConfigModel):
    level: LogLevel = "INFO"
    """From which level on events are logged; see docs/reference.md#logs."""
    messages: bool = True
    """Whether every message sent and received is a line in the log of each who sent or received it."""
    max_file_mib: Annotated[float, Field(gt=0, le=1_000_000)] = 32
    """A log file that would grow beyond this is renamed, to `P01.log.jsonl.1`, and another is begun."""
    old_files: Annotated[int, Field(ge=0, le=1000)] = 3
    """So many renamed files of each log are kept."""

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
    """The league file that counts where no `--league-id` is given."""
    network: NetworkConfig = NetworkConfig()
    security: SecurityConfig = SecurityConfig()
    tolerance: ToleranceConfig = ToleranceConfig()
    timeouts: TimeoutConfig = TimeoutConfig()
    retry_policy: RetryPolicy = RetryPolicy()
    circuit_breaker: CircuitBreakerConfig = CircuitBreakerConfig()
    heartbeat: HeartbeatConfig = HeartbeatConfig()
    logging: LoggingConfig = LoggingConfig()
    webhooks: tuple[WebhookConfig, ...] = ()
    """Where news of all leagues of this folder are posted; see docs/weeks.md#webhooks."""

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


def _check_sign(text: str) -> str:
    if text and not is_sign(text):
        raise ValueError(f"expected {SIGN_EXPECTED}")
    return text


class PlayerEntry(ConfigModel):
    player_id: str
    display_name: str
    version: str = "1.0.0"
    color: Annotated[str, Field(pattern=f"^({COLOR_FORM})?$")] = ""
    """Its colour on pages, such as #c0392b."""
    avatar: Annotated[str, AfterValidator(_check_sign)] = ""
    """Its sign on pages: one to three characters, such as an emoji."""
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
    win_points: Points = 3
    """Points for a match that was won."""
    draw_points: Points = 1
    """Points for a draw."""
    loss_points: Points = 0
    """Points for a match that was lost."""
    technical_loss_points: Points = 0
    """Points for a match that was lost by silence or by answers that can't be used."""
    tiebreakers: tuple[Tiebreaker, ...] = ("wins", "head_to_head", "draws")
    """What separates players with the same points, in order; a Swiss league whose file names none has
    `buchholz_cut_1`, `buchholz`, `wins`; see docs/formats.md#the-table."""


class StageConfig(ConfigModel):
    """One stage of a league of several: a format, and how many players go on from it."""

    format: str
    """The format of this stage."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """The format's own settings."""
    advance: Annotated[int, Field(ge=1)] | None = None
    """Players who go on to the next stage, from each group if there are groups; none after the last stage."""


class SchedulingConfig(ConfigModel):
    format: str = "round_robin"
    """The tournament format: `round_robin`, `double_round_robin`, `swiss`, `knockout`, `double_elimination`, `groups`,
    `gauntlet`; see docs/formats.md. `--format` sets it for one run."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """The format's own settings, such as `best_of`; `--set scheduling.settings.best_of=3`."""
    stages: tuple[StageConfig, ...] = ()
    """Formats one after the other, in place of `scheduling.format`."""
    seeding: Literal["order", "lot", "rating"] = "order"
    """Who is the favourite: who registered first, the lot, or who has the highest of `ratings`."""
    ratings: dict[str, float] = Field(default_factory=dict)
    """Ratings of players by name, for seeding; a player without one comes after those with one."""
    seeded_players: tuple[str, ...] = ()
    """The players' ids, the favourite first; set when the league starts."""
    lot: str | None = None
    """Decides what nothing else does; None: chosen with the season. `--seed` sets it for one run."""
    matches_per_round: Annotated[int, Field(ge=1)] | None = None
    """Splits rounds that have more, where the league is named (`--league-id`, `--game`) or this is set with
    `--set`; else, and where it is null, a round has all its pairs."""
    rounds: Annotated[int, Field(ge=1)] | None = None
    """Only so many rounds are played, so that a thousand players can have a league of three rounds; None: as many
    as the format needs. `league run --rounds N` sets it for one run."""
    play_off: bool = False
    """Whether who is level in first place after all tiebreakers plays for it; see docs/formats.md#the-table."""
    overlap_rounds: bool = False
    """Whether players who are free go on into the next round while matches of the last are still played; rounds are
    announced and end in order all the same, each with the table as of its end, and at most 16 are open at once."""
    referee_assignment: AssignmentStrategy = "least_connections"
    """Which referee gets a match; `weighted` goes by `max_concurrent_matches`."""


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
    """Matches in an hour that a player gets by itself."""
    requests: Literal["automatic", "accepted", "off"] = "automatic"
    """Whether a request is played at once, only if the other player accepts it, or never."""
    requests_per_hour: Annotated[int, Field(ge=1, le=100_000)] = 6
    """Matches in an hour that a player may ask for."""
    house_bots: tuple[str, ...] = ("random",)
    """Strategies that play in the manager's own process, as pass marks."""
    check: bool = True
    """Whether players are checked when they come, and meet only house bots until they pass."""
    keep_matches: Annotated[int, Field(ge=100, le=100_000)] = 1000
    """Finished matches that are kept one by one; older ones count in sums."""

    @field_validator("house_bots")
    @classmethod
    def _check_house_bots(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) != len(names) or not all(re.fullmatch(r"[a-z0-9_]{1,40}", name) for name in names):
            raise ValueError("Input should be different names of strategies, such as random")
        return names


class ParticipantsConfig(ConfigModel):
    min_players: Annotated[int, Field(ge=2)] = 2
    """The fewest players with which a league starts."""
    max_players: Annotated[int, Field(ge=2)] = 100
    """The most players that a league takes."""
    start_with: Annotated[int, Field(ge=2)] | None = None
    """`league serve` starts the league once so many players are there; without it on `league admin start` alone."""


def _check_formula(text: str) -> str:
    parse_formula(text, ANY_COLUMN)
    return text


class GradingConfig(ConfigModel):
    rule: GradeRule = "points"
    """The ready-made formula of a grade: `points`, `rank_share` or `course_v1`; see docs/grades.md."""
    formula: Annotated[str, AfterValidator(_check_formula)] | None = None
    """A formula of one's own in place of `rule`: numbers, columns, + - * /, comparisons, min, max and if."""
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
    """`league.v1` or `league.v2`: what the players of `league run` speak; None: `league.v2`. A league plays the
    rules of `league.v1` if all its players speak that when it starts."""
    game_type: str
    """The game; see docs/games.md. `--game` sets it for one run."""
    game_parameters: dict[str, Any] = Field(default_factory=dict)
    """What the game is played by, beside its entry in the manager's `games_registry.json`; every START_MATCH
    carries all of it. `--param NAME=VALUE` sets one for one run."""
    status: str = "ACTIVE"
    created_at: str | None = None
    scoring: ScoringConfig = ScoringConfig()
    scheduling: SchedulingConfig = SchedulingConfig()
    participants: ParticipantsConfig = ParticipantsConfig()
    grading: GradingConfig = GradingConfig()
    ladder: LadderConfig | None = None
    """Makes the league a practice ladder (docs/ladder.md); `{}` with all the defaults. `--format ladder` sets it
    for one run."""
    times: TimesConfig = TimesConfig()
    webhooks: tuple[WebhookConfig, ...] = ()
    """Where news of this league are posted, beside those of `system.json`; see docs/weeks.md#webhooks."""
    registration: Literal["open", "keys"] | None = None
    """`keys`: players come in by the sign-up address of their team alone; `open`: anybody. None: `keys` as soon as
    `league class` has made a roster, but on this machine alone always `open`."""
    visibility: Literal["everything", "pseudonyms", "top_ten", "members"] = "everything"
    """What visitors see on pages, in `/events`, `/metrics`, exports, the archive and open tools: `everything`;
    `pseudonyms`; `top_ten`, the first ten with their matches, once there are results, and of the others nothing but
    their number (in a bracket their pseudonyms); `members`, nothing. A team sees itself as well, and in a league
    for `members` all, on every page once it has opened that of its key (docs/class.md); organisers see
    all. What is sent to all agents has every row, with pseudonyms, as each looks for its own; in a league for
    `members` with names. What was said in matches is then for organisers alone."""

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
    if not re.fullmatch(r"https?://[^\s/@?#]+(/[^\s?#]*)?", address):  # requests add their paths at its end
        raise ValueError("Input should be an address without a password or query, such as http://localhost:11434/v1")
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


DEFAULT_KEY_VARIABLE = "LEAGUE_LLM_API_KEY"
BASE_URL_PLACES = "llm.base_url in defaults/player.json, or --base-url of `league player`"


class LlmSettings(ConfigModel):
    """Settings of the strategy `llm`. API keys come from the environment alone, so there is no field for them."""

    model: str | None = None
    """`provider:model` as pydantic-ai names it; with a `base_url`, the model's name on that server."""
    base_url: Annotated[str, AfterValidator(_check_model_server)] | None = None
    """A server with OpenAI's chat API: Ollama, vLLM, LM Studio, ..."""
    api_key_variable: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] = DEFAULT_KEY_VARIABLE
    """The environment variable with the API key for the server at `base_url`; it has to be set, but for the default,
    without which no key is sent."""
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
