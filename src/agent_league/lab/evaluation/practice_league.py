"""A private league for practice games: running players at their addresses, and strategies inside players of ours.

Who plays whom how often is its users' matter: an experiment's, or a comparison's.
"""

import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agent_league.check.scripted_agents import start_manager
from agent_league.check.signing_key import load_checker_key
from agent_league.check.subject import CheckOptions
from agent_league.clock import SystemClock
from agent_league.config.python_files import is_python_file
from agent_league.errors import UserError
from agent_league.games.registry import Game
from agent_league.http.carrier import Carrier
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
from agent_league.lab.experiment.calls import CallSettings
from agent_league.league.match_tokens import TokenIssuer
from agent_league.model.names import list_known_names
from agent_league.players.strategies import find_installation_problem, has_argument, strategy_names
from agent_league.protocol.tokens import SigningKey

FIRST_PARTNER_NUMBER = 901
"""First number of opponents' ids. No league gives such ids, so no player mistakes them for earlier opponents."""
TOKEN_SECONDS = 24 * 3600


def is_address(text: str) -> bool:
    """Whether the text is a player's address, not a strategy or its Python file; UserError if it is none of these."""
    if text in strategy_names():
        return False
    if has_argument(text) or (is_python_file(text) and "://" not in text):
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


@dataclass(slots=True)
class PrivateRoom:
    """A private league that is open: running players are connected to it once, players of ours for some games."""

    stack: AsyncExitStack
    """Ends all."""
    settings: CallSettings
    remark: Callable[[str], None]
    key: SigningKey
    manager: PracticeManager | None
    referee: PracticeReferee | None
    network: MemoryNetwork
    carrier: Carrier
    visitors: dict[str, RunningPlayer] = field(default_factory=dict)
    """The running players by address."""

    @classmethod
    async def open(
        cls, stack: AsyncExitStack, settings: CallSettings, remark: Callable[[str], None], *, has_addresses: bool
    ) -> "PrivateRoom":
        """Start manager and referee, if players at addresses need them; the stack ends them."""
        network = MemoryNetwork()
        if not has_addresses:
            return cls(stack, settings, remark, SigningKey.generate(), None, None, network, network)
        key, key_remark = load_checker_key()
        if key_remark:
            remark(key_remark)
        manager = await start_manager(settings.manager_port, key, PracticeManager)
        if manager:
            stack.push_async_callback(manager.stop)
        referee, outside = PracticeReferee(), HttpCarrier()
        stack.push_async_callback(outside.close)
        await referee.start()
        stack.push_async_callback(referee.stop)
        return cls(stack, settings, remark, key, manager, referee, network, SplitCarrier(network, outside))

    async def connect_player(self, label: str, address: str, game_type: str) -> RunningPlayer:
        """Connect to a running player, once; UserError if it can't be reached, refuses, or has another one's id."""
        if known := self.visitors.get(address):
            return known
        settings = self.settings
        options = CheckOptions(timeout=settings.timeout, wait_seconds=settings.wait_seconds, timeouts=settings.timeouts)
        host = ConnectionContext(self.key, self.manager, options, game_type, self.remark)
        connection = connect_player(address, host, settings.protocols.get(label))
        visitor = await self.stack.enter_async_context(connection)
        if visitor.player.player_id in self.taken_ids:
            raise UserError(
                f"{label} has the id {visitor.player.player_id} of another player here; start both with this manager"
            )
        self.visitors[address] = visitor
        return visitor

    @property
    def taken_ids(self) -> set[str]:
        """The ids of the running players."""
        return {visitor.player.player_id for visitor in self.visitors.values()}

    @asynccontextmanager
    async def seat_players(
        self, game: Game, seed: str, planned: Sequence[InProcessPlayer], failures: dict[str, int] | None = None
    ) -> AsyncIterator[tuple[PracticeMatchRunner, list[PracticePlayer]]]:
        """Start players of ours, without memories, inside this context, and what plays matches among all.

        `failures` are failed calls in a row by player id, and are counted on.
        """
        inner = PracticeManager(0, self.key, self.manager.league_id) if self.manager else PracticeManager(0, self.key)
        with tempfile.TemporaryDirectory(prefix="league-practice-") as folder:
            league = InProcessLeague(self.network, inner, Path(folder), game.game_type, seed)
            async with start_in_process_players(planned, league, self.remark) as started:
                table = PracticeMatchRunner(
                    game=game,
                    league_id=inner.league_id,
                    passes=TokenIssuer(self.key, inner.league_id, SystemClock(), TOKEN_SECONDS),
                    carrier=self.carrier,
                    timeouts=self.settings.timeouts.limit(self.settings.timeout),
                    seed=seed,
                    referee=self.referee,
                    failures=failures,
                )
                try:
                    yield table, started
                finally:
                    await table.close()
