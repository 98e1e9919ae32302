"""A private league for practice games: running players at their addresses, and strategies inside players of ours.

Who plays whom how often is its users' matter: an evaluation's, or a comparison's.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from agent_league.check.scripted_agents import start_manager
from agent_league.check.signing_key import load_checker_key
from agent_league.check.subject import CheckOptions
from agent_league.clock import SystemClock
from agent_league.config.models import TimeoutConfig
from agent_league.config.python_files import is_python_file
from agent_league.errors import UserError
from agent_league.games.registry import Game
from agent_league.http.client import HttpCarrier
from agent_league.http.memory import MemoryNetwork
from agent_league.lab.evaluation.game_table import PracticeMatchRunner
from agent_league.lab.evaluation.in_process_players import (
    InProcessLeague,
    InProcessPlayer,
    PracticePlayer,
    SplitCarrier,
    start_in_process_players,
)
from agent_league.lab.evaluation.private_league import PracticeManager, PracticeReferee
from agent_league.lab.evaluation.running_player import ConnectionContext, RunningPlayer, connect_player
from agent_league.league.match_tokens import TokenIssuer
from agent_league.model.names import list_known_names
from agent_league.players.strategies import find_installation_problem, strategy_names
from agent_league.protocol.tokens import SigningKey

FIRST_PARTNER_NUMBER = 901
"""First number of opponents' ids. No league gives such ids, so no player mistakes them for earlier opponents."""
TOKEN_SECONDS = 24 * 3600
PlanPlayers = Callable[[set[str]], Mapping[str, InProcessPlayer]]
"""Plan the players of this process, by name; their ids must not be among those given."""


@dataclass(frozen=True, slots=True)
class PracticeSettings:
    """How practice games are played."""

    game: Game
    seed: str
    timeout: float | None = None
    """Upper bound in seconds for every call; None: the timeouts alone."""
    timeouts: TimeoutConfig = field(default_factory=TimeoutConfig)
    wait_seconds: float = 5.0
    """Seconds for a running player to appear and to register."""
    manager_port: int | None = None

    @property
    def effective_timeouts(self) -> TimeoutConfig:
        """The league's timeouts, none longer than the requested one."""
        most, limits = self.timeout, self.timeouts
        if most is None:
            return limits
        return limits.model_copy(
            update={name: min(most, value) for name, value in limits if name in TimeoutConfig.model_fields}
        )


@dataclass(frozen=True, slots=True)
class PracticeLeague:
    """An open private league."""

    table: PracticeMatchRunner
    visitors: Mapping[str, RunningPlayer]
    """The running players by address."""
    inside: Mapping[str, PracticePlayer]
    """The players of this process by name."""
    remark: str | None
    """What a reader of the results should know."""


def is_address(text: str) -> bool:
    """Whether the text is a player's address, not a strategy or its Python file; UserError if it is none of these."""
    if text in strategy_names():
        return False
    if is_python_file(text) and "://" not in text:
        if problem := find_installation_problem(text):
            raise UserError(problem)
        return False
    place = Path(text)
    if place.is_dir() or place.is_file():
        what = "folder" if place.is_dir() else "file that isn't Python"
        hint = f"name its file, {place / 'player.py'}" if (place / "player.py").is_file() else "start the player"
        raise UserError(f"{text} is a {what}: {hint}, or give its address, such as http://localhost:8101/mcp")
    if any(mark in text for mark in ":/.") or text == "localhost":
        return True
    raise UserError(
        f"{text!r} is neither the address of a player, such as http://localhost:8101/mcp, nor a Python file, nor a "
        f"strategy {list_known_names(text, strategy_names())}"
    )


def make_partner_ids(taken: set[str]) -> Iterator[str]:
    """Yield ids for players of this process."""
    return (f"P{number}" for number in range(FIRST_PARTNER_NUMBER, 10_000) if f"P{number}" not in taken)


async def open_practice_league(
    stack: AsyncExitStack,
    settings: PracticeSettings,
    addresses: Mapping[str, str | None],
    plan_players: PlanPlayers,
    remark: Callable[[str], None],
) -> PracticeLeague:
    """Connect to the running players, by address with their protocol if known, and start those of this process.

    The stack ends all. UserError if a player can't be reached or refuses to play.
    """
    home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="league-practice-")))
    key, key_remark = load_checker_key() if addresses else (SigningKey.generate(), None)
    manager = None
    visitors: dict[str, RunningPlayer] = {}
    if addresses:
        manager = await start_manager(settings.manager_port, key, PracticeManager)
        if manager:
            stack.push_async_callback(manager.stop)
        options = CheckOptions(timeout=settings.timeout, wait_seconds=settings.wait_seconds, timeouts=settings.timeouts)
        host = ConnectionContext(key, manager, options, settings.game.game_type, remark)
        for address, protocol in addresses.items():
            visitors[address] = await stack.enter_async_context(connect_player(address, host, protocol))
        if manager:
            manager.fix_league()
    inner = PracticeManager(0, key, manager.league_id) if manager else PracticeManager(0, key)
    network = MemoryNetwork()
    planned = plan_players({visitor.player.player_id for visitor in visitors.values()})
    room = InProcessLeague(network, inner, home, settings.game.game_type, settings.seed)
    started = await stack.enter_async_context(start_in_process_players(list(planned.values()), room, remark))
    referee, carrier = await _open_network(stack, network) if addresses else (None, network)
    table = PracticeMatchRunner(
        game=settings.game,
        league_id=inner.league_id,
        passes=TokenIssuer(key, inner.league_id, SystemClock(), TOKEN_SECONDS),
        carrier=carrier,
        timeouts=settings.effective_timeouts,
        seed=settings.seed,
        referee=referee,
    )
    stack.push_async_callback(table.close)
    return PracticeLeague(table, visitors, dict(zip(planned, started, strict=True)), key_remark)


async def _open_network(stack: AsyncExitStack, inside: MemoryNetwork) -> tuple[PracticeReferee, SplitCarrier]:
    """Start the referee that running players call, and open the carrier that reaches them."""
    referee, outside = PracticeReferee(), HttpCarrier()
    stack.push_async_callback(outside.close)
    await referee.start()
    stack.push_async_callback(referee.stop)
    return referee, SplitCarrier(inside, outside)
