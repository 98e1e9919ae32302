"""Assessments: a league among A2A agents that somebody names, with players of ours beside them, and its ratings.

Owns what may be asked for and how it is played: in one process, in a folder of its own, every match file verified.
Doesn't know how the request came. Participants are strangers: `network.allowed_hosts` says where they may be.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_league.a2a.agent_card import build_auth_headers, find_a2a_agent, parse_card_url
from agent_league.a2a.strategy import A2aStrategy
from agent_league.config import ConfigLoader, SystemConfig
from agent_league.config.home import make_home
from agent_league.errors import LeagueFailed, UserError
from agent_league.formats.registry import FORMATS
from agent_league.games.base import BadParameters
from agent_league.games.registry import game_types
from agent_league.http.memory import MemoryNetwork
from agent_league.lab.played_league import read_verified_match
from agent_league.launch.agent_plan import AgentListeners, PlayerPlan
from agent_league.launch.in_process import run_agents
from agent_league.launch.plan import LeaguePlan, LeagueRequest, make_league_plan
from agent_league.league.app import LeagueManager
from agent_league.model.events import Event, MatchFinished
from agent_league.model.names import MAX_NAME_LENGTH, is_displayable, list_known_names, normalise_confusables
from agent_league.model.results import MatchResult
from agent_league.players.events import LeagueOver, PlayerEvent
from agent_league.players.observation import Strategy
from agent_league.players.strategies import strategy_names
from agent_league.storage.paths import DataPaths
from agent_league.text import MAX_PHRASE, quote, shorten
from agent_league.web.league_ratings import RatingInput

MAX_PLAYERS = 32
FAREWELL_SECONDS = 10.0
"""How long the players have to hear that the league is over, after its last result."""
SLOW_STRATEGIES = frozenset({"llm"})
Progress = Callable[[str], None]


class AssessmentConfig(BaseModel):
    """What may be configured."""

    model_config = ConfigDict(extra="forbid")

    game: str = "tic_tac_toe"
    parameters: dict[str, Any] = Field(default_factory=dict)
    format: str = "double_round_robin"
    opponents: list[str] = Field(default_factory=list)
    """Strategies of ours that play as well."""
    seed: Annotated[str, Field(max_length=100)] | Annotated[int, Field(ge=0, lt=2**63)] | None = None


class AssessmentRequest(BaseModel):
    """A request in the form of AgentBeats: roles with the addresses of their agents, and a configuration."""

    model_config = ConfigDict(extra="ignore")

    participants: dict[str, str]
    config: AssessmentConfig = Field(default_factory=AssessmentConfig)


def parse_request(data: Any) -> AssessmentRequest:
    """Parse and check a request; raises UserError with what was expected."""
    try:
        request = AssessmentRequest.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the request"
        settings = f"there is no such setting; there are {', '.join(AssessmentConfig.model_fields)}"
        problem = settings if first["type"] == "extra_forbidden" else first["msg"]
        raise UserError(
            f"{shorten(where, MAX_PHRASE)}: {problem}; expected "
            '{"participants": {"ROLE": "ADDRESS OF ITS AGENT"}, "config": {"game": ..., "opponents": [...]}}'
        ) from None
    config = request.config
    _check_name("config.game", config.game, game_types())
    _check_name("config.format", config.format, FORMATS.names)
    known = [name for name in strategy_names() if name not in SLOW_STRATEGIES]
    for name in config.opponents[: MAX_PLAYERS + 1]:
        _check_name("config.opponents", name, known)
    if not request.participants:
        raise UserError("participants: nobody is named; expected a role and the address of its agent at least")
    players = len(request.participants) + len(config.opponents)
    if not 2 <= players <= MAX_PLAYERS:
        raise UserError(f"expected 2 to {MAX_PLAYERS} players, participants and config.opponents together: {players}")
    for role in request.participants:
        if not is_displayable(role) or len(role) > MAX_NAME_LENGTH:
            raise UserError(f"participants: {quote(role)} can't be shown as a role")
    names = Counter(map(normalise_confusables, _name_players(request)))
    if double := next((name for name, count in names.items() if count > 1), None):
        raise UserError(f"participants: two roles look like {quote(double)}")
    return request


def _check_name(field: str, name: str, known: Any) -> None:
    if name not in known:
        raise UserError(f"{field}: there is no {quote(name)} {list_known_names(name, known)}")


def _name_players(request: AssessmentRequest) -> list[str]:
    """The names of all players: the roles, then our own, numbered if a strategy is there twice."""
    seen: Counter[str] = Counter()
    own = []
    for name in request.config.opponents:
        seen[name] += 1
        own.append(f"{name} (league)" if seen[name] == 1 else f"{name} (league {seen[name]})")
    return [*request.participants, *own]


@dataclass(frozen=True, slots=True)
class Assessor:
    """Plays assessments; `overrides` are settings of system.json and the league file, as of `--set`."""

    overrides: Mapping[str, Any]
    limit: float
    """Seconds that one assessment may take."""

    async def play(self, request: AssessmentRequest, folder: Path, progress: Progress) -> dict[str, Any]:
        """Play a request to its end in a folder and return its ratings; raises UserError or LeagueFailed."""
        try:
            async with asyncio.timeout(self.limit):
                plan = await self._make_plan(request, folder)
                return await _play_plan(plan, request, progress)
        except TimeoutError:
            raise LeagueFailed(f"the assessment was not over after {self.limit:g} s") from None
        except BadParameters as error:
            raise UserError(f"config.parameters: {error}") from None
        except UserError as error:  # a stranger reads it, who has nothing to do with our folders
            raise UserError(
                str(error).replace(f"{folder}/", "").replace(str(folder), "the assessor's folder")
            ) from None

    def load_system(self) -> SystemConfig:
        """Load the settings of all assessments; raises ConfigError."""
        with TemporaryDirectory() as folder:
            make_home(Path(folder))
            loader = ConfigLoader(Path(folder), self.overrides)
            loader.check_overrides()
            return loader.load_system()

    def check_folder(self, out: Path) -> None:
        """Make the folder in which assessments are kept; raises UserError if it can't be written."""
        try:
            out.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=out):
                pass
        except OSError as error:
            raise UserError(f"--out {out} can't be written ({error.strerror}); expected a folder") from None

    @contextmanager
    def open_folder(self, out: Path | None, name: str) -> Iterator[Path]:
        """Open the folder of one assessment: below `out`, or a temporary one."""
        if out is None:
            with TemporaryDirectory() as folder:
                yield Path(folder)
        else:
            yield out / name

    async def _make_plan(self, request: AssessmentRequest, folder: Path) -> LeaguePlan:
        make_home(folder)
        config = request.config
        loader = ConfigLoader(folder, {**self.overrides, "scheduling.format": config.format})
        names = _name_players(request)
        wanted = LeagueRequest(
            home=folder,
            players=len(names),
            referees=1,
            seed=None if config.seed is None else str(config.seed),
            strategies=("random",),
            game=config.game,
            parameters=config.parameters,
        )
        plan = make_league_plan(loader, wanted)
        hosts = plan.system.network.allowed_hosts
        strategies: list[str | Strategy] = [
            await _seat_participant(role, address, hosts) for role, address in request.participants.items()
        ]
        strategies += config.opponents
        players = (
            replace(player, strategy=strategy, settings=replace(player.settings, display_name=name))
            for player, strategy, name in zip(plan.players, strategies, names, strict=True)
        )
        return replace(plan, players=tuple(players))


async def _seat_participant(role: str, address: str, hosts: tuple[str, ...]) -> A2aStrategy:
    try:
        agent = await find_a2a_agent(parse_card_url(address, "the address"), hosts)
        return A2aStrategy(agent, build_auth_headers(agent.card, None))
    except UserError as error:
        raise UserError(f"participants.{shorten(role)}: {error}") from None


async def _play_plan(plan: LeaguePlan, request: AssessmentRequest, progress: Progress) -> dict[str, Any]:
    results: list[MatchResult] = []
    still_playing = {player.settings.wanted_id for player in plan.players}
    are_done = asyncio.Event()

    def watch_league(event: Event) -> None:
        if isinstance(event, MatchFinished):
            results.append(event.result)
            progress(f"{len(results)} matches are played")

    def watch_player(player_id: str, event: PlayerEvent) -> None:
        if isinstance(event, LeagueOver):
            still_playing.discard(player_id)
            if not still_playing:
                are_done.set()

    listeners = AgentListeners(on_league_event=watch_league, on_player_event=watch_player)
    async with run_agents(MemoryNetwork(), plan.agent_plans, listeners) as agents:
        manager = agents[0]
        if not isinstance(manager, LeagueManager):
            raise TypeError("the first seat of a plan is the manager's")
        await manager.completed.wait()
        with suppress(TimeoutError):  # the results stand, whoever has not heard of them
            async with asyncio.timeout(FAREWELL_SECONDS):
                await are_done.wait()
    paths = DataPaths(plan.home)
    for result in results:
        read_verified_match(paths.match_file(plan.league.league_id, result.match_id), "The assessment")
    return await asyncio.to_thread(_write_ratings, manager, plan.players, request, results)


def _write_ratings(
    manager: LeagueManager, players: tuple[PlayerPlan, ...], request: AssessmentRequest, results: list[MatchResult]
) -> dict[str, Any]:
    """Write the artifact: table, ratings with their intervals, matches, by role."""
    names = {player.settings.wanted_id: player.settings.display_name for player in players}
    rows = manager.state.standings()
    lost = Counter(
        player_id
        for result in results
        for player_id in result.terminations
        if player_id != result.winner and not result.is_void
    )
    report = RatingInput.from_state(manager.state).make_report()
    ratings = {player_id: asdict(rating) for player_id, rating in report.table.by_player().items()}
    best = min(row.shared_rank for row in rows)
    return {
        "winners": [row.display_name for row in rows if row.shared_rank == best],
        "game": request.config.game,
        "format": request.config.format,
        "standings": [
            {
                "role": row.display_name,
                "is_participant": row.display_name in request.participants,
                "rank": row.shared_rank,
                "played": row.played,
                "wins": row.wins,
                "draws": row.draws,
                "losses": row.losses,
                "technical_losses": lost[row.player_id],
                "points": row.points,
                "rating": ratings.get(row.player_id),
            }
            for row in rows
        ],
        "matches": [
            {
                "match_id": result.match_id,
                "roles": [names[player_id] for player_id in result.players],
                "winner": names.get(result.winner or ""),
                "status": result.status,
            }
            for result in results
        ],
        "sentences": report.describe(names),
    }
