"""Connecting to a running player at its address, with the means of `league check`: protocol, id and bad input."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal

from agent_league.check.check import check_address
from agent_league.check.frames import ask_well, json_rpc_steps, server_steps
from agent_league.check.hostile_input import hostile_steps
from agent_league.check.http_probe import Probe
from agent_league.check.listener import Incoming
from agent_league.check.notices import SHUT_OUT
from agent_league.check.player_subject import PlayerBench
from agent_league.check.player_v1 import V1PlayerBench
from agent_league.check.steps import NoReply, Verdict, work_through
from agent_league.check.subject import Bench, Exchange, Options
from agent_league.errors import UserError
from agent_league.lab.evaluation.in_process_players import Entrant
from agent_league.lab.evaluation.model import Conformance, Fault
from agent_league.lab.evaluation.private_league import PracticeManager
from agent_league.lab.evaluation.transcript import cut, registration_faults
from agent_league.model.agents import ANY_GAME, takes
from agent_league.protocol.envelope import Sender
from agent_league.protocol.tokens import SigningKey
from agent_league.protocol.tolerance import tidied
from agent_league.protocol.v1.ids import inside
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2

COME_OVER_SECONDS = 40
"""Time for a player of ours to notice that its manager has another league: it asks every 30 s."""
CHECK_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Host:
    """What connecting to running players needs."""

    key: SigningKey
    manager: PracticeManager | None
    """The manager that they may register with; None if its port is taken."""
    options: Options
    game_type: str
    tell: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Visitor:
    """A connected running player, and the subject by which `league check` tests it."""

    entrant: Entrant
    bench: Bench
    name: str

    @property
    def registration(self) -> tuple[Fault, ...] | None:
        """Faults of its registration message; None: it didn't register."""
        return None if self.bench.registration is None else registration_faults(self.bench.registration)

    async def check(self) -> Conformance:
        """Send bad input, and check that the player still works afterwards."""
        framed = json_rpc_steps() if self.entrant.protocol != PROTOCOL_V1 else []
        outcomes = await work_through([*server_steps(), *framed, *hostile_steps()], self.bench, CHECK_SECONDS)
        found = {
            verdict: tuple(Fault(one.name, cut(one.came)) for one in outcomes if one.verdict is verdict)
            for verdict in Verdict
        }
        return Conformance(
            passed=len(found[Verdict.PASS]),
            skipped=len(found[Verdict.SKIPPED]),
            warned=found[Verdict.WARNING],
            failed=found[Verdict.FAIL],
        )


@asynccontextmanager
async def met(url: str, host: Host, protocol: str | None) -> AsyncIterator[Visitor]:
    """Connect to the player at an address; UserError if it isn't reachable or refuses to play."""
    url, manager, wait = check_address(url), host.manager, host.options.wait
    async with AsyncExitStack() as stack:
        probe = Probe(url)
        stack.push_async_callback(probe.close)
        await _appears(probe, wait)
        host.tell(f"Waiting up to {wait:g} s for the player at {url} to register.")
        registration = await manager.registration(url, wait) if manager else None
        bench = await _bench(stack, probe, host, protocol, registration)
        refused = await _let_in(bench)
        if refused and manager:
            host.tell(f"The player refuses with {refused}: it belongs to another league, or waits for one.")
            host.tell(f"Waiting up to {COME_OVER_SECONDS} s for it to register at {manager.endpoint}.")
            registration = await manager.registration(url, COME_OVER_SECONDS)
            bench = await _bench(stack, probe, host, protocol, registration)
            refused = await _let_in(bench)
        if refused:
            where = manager.endpoint if manager else "port 8000 is taken: stop what is there, or use --manager-port"
            raise UserError(
                f"the player at {url} refuses to play ({refused}): it belongs to another league. "
                f"Start it with this evaluation as its manager ({where}), or with --practice"
            )
        _check_game(bench, url, host.game_type)
        yield Visitor(_entrant(bench, url, host.game_type), bench, _name(bench, url))


async def _bench(
    stack: AsyncExitStack,
    probe: Probe,
    host: Host,
    protocol: str | None,
    registration: Incoming | None,
) -> Bench:
    """Open the subject for the protocol that was requested, that the player registered with, or that it answers."""
    protocol = protocol or (str(registration.message.get("protocol")) if registration else None)
    old, new = (kind(probe, host.options, host.key, host.manager) for kind in (V1PlayerBench, PlayerBench))
    with suppress(NoReply):
        if protocol is None and (await ask_well(old)).answer is not None and (await ask_well(new)).answer is None:
            protocol = PROTOCOL_V1
    bench: Bench = old if protocol == PROTOCOL_V1 else new
    for server in bench.servers:
        await server.start()
        stack.push_async_callback(server.stop)
    return bench


async def _appears(probe: Probe, seconds: float) -> None:
    why: str | None = "nobody is there"
    with suppress(TimeoutError):
        async with asyncio.timeout(max(seconds, 0.1)):
            while (why := await probe.connects()) is not None:  # noqa: ASYNC110 - another process tells nobody
                await asyncio.sleep(0.1)
    if why is not None:
        raise UserError(f"no player at {probe.url}: {why}; start it first")


async def _let_in(bench: Bench) -> str:
    """Ask the player to play and return its error code if it belongs to another league, else an empty string.

    A player that doesn't answer isn't refused: it will lose its games, and that is a result.
    """
    await bench.meet()
    try:
        exchange = await bench.knock()
    except NoReply:
        return ""
    if exchange.answer is not None:
        bench.keep(exchange.method, exchange)
        _take_name(bench, exchange)
    return exchange.league_code if exchange.league_code in SHUT_OUT else ""


def _take_name(bench: Bench, exchange: Exchange) -> None:
    """Use the id that an unregistered player claims in its answer."""
    if bench.registration or exchange.answer is None:
        return
    said = str(exchange.answer.get("sender"))
    sender = Sender.parse(said)
    claimed = exchange.answer.get("player_id") or (sender.agent_id if sender else inside(said))
    if isinstance(claimed, str) and claimed.isprintable() and 0 < len(claimed) <= 100:
        bench.agent_id = claimed


def _check_game(bench: Bench, url: str, game_type: str) -> None:
    """Raise UserError if the player names its games, and this one isn't among them."""
    games = _meta(bench).get("game_types")
    if not isinstance(games, list) or not games or not all(isinstance(game, str) for game in games):
        return
    if not takes(games, game_type):
        named = cut(", ".join(games))
        raise UserError(
            f"the player at {url} takes {named}, and {game_type} was to be played; say --game {cut(games[0])}"
        )


def _entrant(bench: Bench, url: str, game_type: str) -> Entrant:
    def token() -> str | None:
        known = bench.manager.tokens if bench.manager else {}
        return known.get(bench.agent_id)

    games = _meta(bench).get("game_types")
    takes_any = isinstance(games, list) and ANY_GAME in games and game_type not in games
    move_method: Literal["make_move"] | None = "make_move" if takes_any else None
    protocol = PROTOCOL_V1 if isinstance(bench, V1PlayerBench) else PROTOCOL_V2
    return Entrant(bench.agent_id, url, token, protocol, move_method)


def _name(bench: Bench, url: str) -> str:
    """Return the display name of the registration, else the address."""
    name = _meta(bench).get("display_name")
    return cut(name) if isinstance(name, str) and name.strip() else url


def _meta(bench: Bench) -> Mapping[str, Any]:
    """Return `player_meta` of the registration; empty if there is none."""
    if bench.registration is None:
        return {}
    meta = tidied("LEAGUE_REGISTER_REQUEST", bench.registration.message)[0].get("player_meta")
    return meta if isinstance(meta, dict) else {}
