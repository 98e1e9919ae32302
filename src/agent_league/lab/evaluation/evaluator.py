"""Running an evaluation: connect the player and its opponents, play a series against each, try bad input.

The results so far are available at any moment, so that an interruption loses nothing.
"""

import asyncio
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent_league.check.scripted_agents import open_manager
from agent_league.check.signing_key import checker_key
from agent_league.check.subject import Options
from agent_league.clock import SystemClock, format_utc
from agent_league.config import PlayerDefaults
from agent_league.config.models import Timeouts
from agent_league.errors import UserError
from agent_league.games.registry import Game
from agent_league.http.client import HttpCarrier
from agent_league.http.memory import MemoryNetwork
from agent_league.lab.evaluation.game_table import FAILURES, PracticeTable
from agent_league.lab.evaluation.in_process_players import BothWays, Entrant, Partner, Room, sit_down
from agent_league.lab.evaluation.model import Conformance, Encounter, Ending, Evaluation, PracticeGame
from agent_league.lab.evaluation.opponents import EARLIER, opponents_of
from agent_league.lab.evaluation.private_league import PracticeManager, PracticeReferee
from agent_league.lab.evaluation.random_play import chances_against_random
from agent_league.lab.evaluation.running_player import Host, Visitor, met
from agent_league.lab.evaluation.watched_strategy import Watched
from agent_league.league.match_tokens import Passes
from agent_league.players.strategies import check_strategy, load_strategy, strategy_names, unsuited
from agent_league.protocol.tokens import SigningKey
from agent_league.protocol.version import PROTOCOL_V2

FIRST_PARTNER = 901
"""First number of opponents' ids. No league gives such ids, so no player mistakes them for earlier opponents."""
PASS_SECONDS = 24 * 3600
ANNOUNCED = 100
"""Games in one announcement to a player."""
PLAYER = "the player"
NO_EARLIER = "no earlier version was named: give its address or its strategy with --earlier"
ALL_OURS = "a strategy plays inside a player of ours, which 'league check --self' judges"
Watch = Callable[[str, PracticeGame | None], None]
"""Called with the opponent's name and each finished game, and with None when a series begins."""


@dataclass(frozen=True, slots=True)
class Request:
    """Which player to evaluate, and how."""

    player: str
    """The address of a running player, or the name of a strategy."""
    game: Game
    seed: str
    games: int = 100
    earlier: str | None = None
    protocol: str | None = None
    """`league.v1` or `league.v2`; None: detect it."""
    timeout: float | None = None
    """Upper bound in seconds for every call; None: the timeouts alone."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    wait: float = 5.0
    """Seconds for a running player to appear and to register."""
    manager_port: int | None = None
    bound: float = 1800.0
    """Seconds for all games together."""
    defaults: PlayerDefaults = field(default_factory=PlayerDefaults)


@dataclass(frozen=True, slots=True)
class _Row:
    """An opponent; without a player, `left_out_reason` says why it doesn't play."""

    name: str
    says: str
    entrant: Entrant | None = None
    left_out: str = ""


def is_address(text: str) -> bool:
    """Whether the text is a player's address, not a strategy; UserError if it is neither."""
    if text in strategy_names():
        return False
    if Path(text).is_file():
        raise UserError(f"{text} is a file: start the player, and give its address, such as http://localhost:8101/mcp")
    if any(mark in text for mark in ":/.") or text == "localhost":
        return True
    known = ", ".join(strategy_names())
    raise UserError(
        f"{text!r} is neither the address of a player, such as http://localhost:8101/mcp, nor a strategy "
        f"(there are: {known})"
    )


class Evaluator:
    """Runs one evaluation and holds its results so far."""

    def __init__(
        self, request: Request, watch: Watch = lambda *_: None, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        self._request = request
        self._watch = watch
        self._tell = tell
        self._began = time.monotonic()
        self._is_outside = is_address(request.player)
        if request.earlier is not None and is_address(request.earlier) and request.earlier == request.player:
            raise UserError("--earlier names the player itself; give the address of its earlier version")
        inside = [name for name in (request.player, request.earlier) if name and not is_address(name)]
        for name in inside:
            check_strategy(name, request.defaults)
        self._games: defaultdict[str, list[PracticeGame]] = defaultdict(list)
        """By opponent."""
        self._watched = None if self._is_outside else Watched(load_strategy(request.player, request.defaults, tell))
        self._found = Evaluation(
            player=request.player,
            where=request.player if self._is_outside else "in this process",
            protocol=request.protocol or PROTOCOL_V2,
            game_type=request.game.game_type,
            title=request.game.title or request.game.game_type,
            parameters=dict(request.game.parameters),
            chances=chances_against_random(request.game),
            has_amounts=request.game.payoffs,
            seed=request.seed,
            earlier=request.earlier or "",
            wanted=request.games,
            started=format_utc(SystemClock().now()),
            remarks=tuple(filter(None, (unsuited(name, request.game.game_type) for name in inside))),
            conformance=Conformance(unjudged="the evaluation ended before that" if self._is_outside else ALL_OURS),
        )

    def found(self, *, interrupted: bool = False) -> Evaluation:
        """Return the evaluation with the results so far."""
        series = tuple(replace(one, games=tuple(self._games[one.opponent])) for one in self._found.series)
        seconds = time.monotonic() - self._began
        moves = self._watched.moves if self._watched else None
        return replace(self._found, series=series, seconds=seconds, moves=moves, interrupted=interrupted)

    async def run(self) -> Evaluation:
        """Play all series; UserError if the player can't be evaluated."""
        async with AsyncExitStack() as stack:
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="league-evaluate-")))
            await self._evaluate(stack, home)
        return self.found()

    async def _evaluate(self, stack: AsyncExitStack, home: Path) -> None:
        request = self._request
        outside = [name for name in (request.player, request.earlier) if name and is_address(name)]
        key, remark = checker_key() if outside else (SigningKey.new(), None)
        manager, visitors = await self._meet(stack, key, outside) if outside else (None, {})
        inner = PracticeManager(0, key, manager.league_id) if manager else PracticeManager(0, key)
        if remark:
            self._found = replace(self._found, remarks=(*self._found.remarks, remark))
        network = MemoryNetwork()
        partners, rows = self._partners({visitor.entrant.player_id for visitor in visitors.values()})
        room = Room(network, inner, home, request.game.game_type, request.seed)
        seating = await stack.enter_async_context(sit_down(list(partners.values()), room, self._tell))
        seated = dict(zip(partners, seating, strict=True))
        for name, visitor in visitors.items():
            seated[PLAYER if name == request.player else EARLIER] = visitor.entrant
        player = seated[PLAYER]
        if len({one.player_id for one in seated.values()}) < len(seated):
            raise UserError("the player and its earlier version have the same id; start both with this manager")
        judged = visitors.get(request.player)
        if judged:
            self._found = replace(
                self._found, player=judged.name, protocol=player.protocol, registration=judged.registration
            )
        referee = await stack.enter_async_context(_referee()) if outside else None
        carrier = BothWays(network, await stack.enter_async_context(_http())) if outside else network
        table = PracticeTable(
            game=request.game,
            league_id=inner.league_id,
            passes=Passes(key, inner.league_id, SystemClock(), PASS_SECONDS),
            carrier=carrier,
            timeouts=self._limits(),
            seed=request.seed,
            referee=referee,
        )
        stack.push_async_callback(table.close)
        await self._play(table, player, [replace(row, entrant=seated.get(row.name)) for row in rows])
        if judged:
            self._tell("Trying bad input.")
            self._found = replace(self._found, conformance=await judged.check())

    async def _meet(
        self, stack: AsyncExitStack, key: SigningKey, addresses: Sequence[str]
    ) -> tuple[PracticeManager | None, dict[str, Visitor]]:
        """Open the manager and connect to the running players; returns these by address."""
        request = self._request
        manager = await open_manager(request.manager_port, key, PracticeManager)
        if manager:
            stack.push_async_callback(manager.stop)
        options = Options(timeout=request.timeout, wait=request.wait, timeouts=request.timeouts)
        host = Host(key, manager, options, request.game.game_type, self._tell)
        visitors = {}
        for address in addresses:
            protocol = request.protocol if address == request.player else None
            visitors[address] = await stack.enter_async_context(met(address, host, protocol))
        if manager:
            manager.settle()
        return manager, visitors

    def _limits(self) -> Timeouts:
        """Return the league's timeouts, none longer than the requested one."""
        most = self._request.timeout
        limits = self._request.timeouts
        if most is None:
            return limits
        return limits.model_copy(
            update={name: min(most, value) for name, value in limits if name in Timeouts.model_fields}
        )

    def _partners(self, taken: set[str]) -> tuple[dict[str, Partner], list[_Row]]:
        """Plan the players in this process, by name, and list all opponents in the order of play."""
        request = self._request
        ids = (f"P{number}" for number in range(FIRST_PARTNER, 10_000) if f"P{number}" not in taken)
        partners: dict[str, Partner] = {}
        rows: list[_Row] = []
        if self._watched:
            player_id = "P01" if "P01" not in taken else next(ids)
            name = f"{request.player} {player_id}"
            partners[PLAYER] = Partner(player_id, self._watched, name, request.protocol or PROTOCOL_V2)
        for opponent in opponents_of(request.game):
            if not opponent.left_out:
                partners[opponent.name] = self._partner(next(ids), opponent.strategy)
            rows.append(_Row(opponent.name, opponent.says, left_out=opponent.left_out))
        rows.append(_Row(EARLIER, request.earlier or "", left_out=NO_EARLIER))
        if request.earlier and not is_address(request.earlier):
            partners[EARLIER] = self._partner(next(ids), request.earlier)
        return partners, rows

    def _partner(self, player_id: str, strategy: str) -> Partner:
        """Make an opponent. Its id is part of its name, from which its random numbers follow: no two play alike."""
        loaded = load_strategy(strategy, self._request.defaults, self._tell)
        return Partner(player_id, loaded, f"{strategy} {player_id}")

    async def _play(self, table: PracticeTable, player: Entrant, rows: Sequence[_Row]) -> None:
        left = self._request.bound
        for round_id, row in enumerate(rows, 1):
            if row.entrant is None:
                self._add(Encounter(row.name, row.says, cut_short=row.left_out))
                continue
            share = left / sum(later.entrant is not None for later in rows[round_id - 1 :])
            began = time.monotonic()
            self._watch(row.name, None)
            try:
                await self._series(table, player, row, round_id, share)
            finally:
                took = time.monotonic() - began
                self._found = replace(self._found, playing=self._found.playing + took)
            left = max(left - took, 0.0)

    async def _series(self, table: PracticeTable, player: Entrant, row: _Row, round_id: int, seconds: float) -> None:
        """Play the games against one opponent; stops after repeated failures or when its time is over."""
        other, wanted = row.entrant, self._request.games
        if other is None:
            return
        self._add(Encounter(row.name, row.says))
        lost_in_a_row = 0
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                for number in range(1, wanted + 1):
                    if number % ANNOUNCED == 1:
                        await table.announce(
                            player, other, round_id, range(number, min(number + ANNOUNCED, wanted + 1))
                        )
                    game = await table.play(player, other, round_id, number)
                    self._games[row.name].append(game)
                    self._watch(row.name, game)
                    lost_in_a_row = lost_in_a_row + 1 if game.ending is Ending.TECHNICAL_LOSS else 0
                    if number < wanted and (table.is_open(player) or lost_in_a_row >= FAILURES):
                        why = f"{game.how.replace('_', ' ')}; after {FAILURES} failures in a row the rest was left out"
                        self._cut_short(why)
                        return
        except TimeoutError:
            if not limit.expired():
                raise
            self._cut_short(f"its share of the time, {seconds:.0f} s, was over (--minutes)")

    def _add(self, series: Encounter) -> None:
        self._found = replace(self._found, series=(*self._found.series, series))

    def _cut_short(self, why: str) -> None:
        *before, last = self._found.series
        self._found = replace(self._found, series=(*before, replace(last, cut_short=why)))


@asynccontextmanager
async def _referee() -> AsyncIterator[PracticeReferee]:
    referee = PracticeReferee()
    await referee.start()
    try:
        yield referee
    finally:
        await referee.stop()


@asynccontextmanager
async def _http() -> AsyncIterator[HttpCarrier]:
    carrier = HttpCarrier()
    try:
        yield carrier
    finally:
        await carrier.close()
