"""Connecting to a running player at its address, with the means of `league check`: protocol, id and bad input."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

from agent_league.agent.dialects import to_own_player_id
from agent_league.check.check import normalise_agent_url, open_player
from agent_league.check.http_probe import HttpProbe
from agent_league.check.listener import IncomingCall
from agent_league.check.notices import UNTRUSTED_CODES
from agent_league.check.player_subject import V1PlayerSubject
from agent_league.check.steps import NoReply, StepVerdict, run_steps
from agent_league.check.subject import CheckOptions, Exchange, Subject
from agent_league.check.transport_steps import HOSTILE_STEPS, JSON_RPC_STEPS, SERVER_STEPS
from agent_league.errors import UserError
from agent_league.lab.evaluation.in_process_players import PracticePlayer
from agent_league.lab.evaluation.model import Conformance, MessageFault
from agent_league.lab.evaluation.private_league import PracticeManager
from agent_league.lab.evaluation.transcript import find_registration_faults
from agent_league.model.agents import ANY_GAME, supports_game
from agent_league.protocol.envelope import Sender
from agent_league.protocol.tokens import SigningKey
from agent_league.protocol.tolerance import normalise
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2
from agent_league.text import MAX_SENTENCE, to_printable

REJOIN_SECONDS = 40
"""Time for a player of ours to notice that its manager has another league: it asks every 30 s."""
CHECK_SECONDS = 60


@dataclass(frozen=True, slots=True)
class ConnectionContext:
    """What connecting to running players needs."""

    key: SigningKey
    manager: PracticeManager | None
    """The manager that they may register with; None if its port is taken."""
    options: CheckOptions
    game_type: str
    remark: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RunningPlayer:
    """A connected running player, and the subject by which `league check` tests it."""

    player: PracticePlayer
    subject: Subject
    display_name: str

    @property
    def registration_faults(self) -> tuple[MessageFault, ...] | None:
        """Faults of its registration message; None: it didn't register."""
        return None if self.subject.registration is None else find_registration_faults(self.subject.registration)

    async def check_bad_input(self) -> Conformance:
        """Send bad input, and check that the player still works afterwards."""
        framed = JSON_RPC_STEPS if self.player.protocol != PROTOCOL_V1 else ()
        outcomes = await run_steps([*SERVER_STEPS, *framed, *HOSTILE_STEPS], self.subject, CHECK_SECONDS)
        found = {
            verdict: tuple(
                MessageFault(one.name, to_printable(one.came, MAX_SENTENCE))
                for one in outcomes
                if one.verdict is verdict
            )
            for verdict in StepVerdict
        }
        return Conformance(
            passed=len(found[StepVerdict.PASS]),
            skipped=len(found[StepVerdict.SKIPPED]),
            warned=found[StepVerdict.WARNING],
            failed=found[StepVerdict.FAIL],
        )


@asynccontextmanager
async def connect_player(url: str, host: ConnectionContext, protocol: str | None) -> AsyncIterator[RunningPlayer]:
    """Connect to the player at an address; UserError if it isn't reachable or refuses to play."""
    url, manager, wait = normalise_agent_url(url), host.manager, host.options.wait_seconds
    async with AsyncExitStack() as stack:
        probe = HttpProbe(url)
        stack.push_async_callback(probe.close)
        if (why := await probe.wait_until_listening(wait)) is not None:
            raise UserError(f"no player at {url}: {why}; start it first")
        host.remark(f"Waiting up to {wait:g} s for the player at {url} to register.")
        registration = await _wait_for_registration(manager, url, wait, host.remark) if manager else None
        bench = await _open_subject(stack, probe, host, protocol, registration)
        refused = await _get_refusal_code(bench)
        if refused and manager:
            host.remark(f"The player refuses with {refused}: it belongs to another league, or waits for one.")
            host.remark(f"Waiting up to {REJOIN_SECONDS} s for it to register at {manager.endpoint}.")
            registration = await _wait_for_registration(manager, url, REJOIN_SECONDS, host.remark)
            bench = await _open_subject(stack, probe, host, protocol, registration)
            refused = await _get_refusal_code(bench)
        if refused:
            where = manager.endpoint if manager else "port 8000 is taken: stop what is there, or use --manager-port"
            raise UserError(
                f"the player at {url} refuses to play ({refused}): it belongs to another league. "
                f"Start it with this evaluation as its manager ({where}), or with --practice"
            )
        _check_game_type(bench, url, host.game_type)
        yield RunningPlayer(_make_practice_player(bench, url, host.game_type), bench, _choose_display_name(bench, url))


async def _wait_for_registration(
    manager: PracticeManager, url: str, limit: float, remark: Callable[[str], None]
) -> IncomingCall | None:
    """Wait for the player's registration; if there is none but a refused one, say why that was refused."""
    registration = await manager.wait_for_registration(url, limit)
    if registration is None and (why := manager.find_refusal(url)):
        remark(f"The registration of the player at {url} is refused: {to_printable(why, MAX_SENTENCE)}.")
    return registration


async def _open_subject(
    stack: AsyncExitStack,
    probe: HttpProbe,
    host: ConnectionContext,
    protocol: str | None,
    registration: IncomingCall | None,
) -> Subject:
    """Open the subject for the protocol that was requested, that the player registered with, or that it answers."""
    bench = await open_player(probe, host.manager, host.options, host.key, registration=registration, protocol=protocol)
    for server in bench.servers:
        await server.start()
        stack.push_async_callback(server.stop)
    return bench


async def _get_refusal_code(bench: Subject) -> str:
    """Ask the player to play and return its error code if it belongs to another league, else an empty string.

    A player that doesn't answer isn't refused: it will lose its games, and that is a result.
    """
    await bench.wait_for_registration()
    try:
        exchange = await bench.send_first_call()
    except NoReply:
        return ""
    if exchange.answer is not None:
        bench.store_exchange(exchange.method, exchange)
        _adopt_claimed_id(bench, exchange)
    return exchange.league_code if exchange.league_code in UNTRUSTED_CODES else ""


def _adopt_claimed_id(bench: Subject, exchange: Exchange) -> None:
    """Use the id that an unregistered player claims in its answer."""
    if bench.registration or exchange.answer is None:
        return
    said = str(exchange.answer.get("sender"))
    sender = Sender.parse(said)
    claimed = exchange.answer.get("player_id") or (sender.agent_id if sender else to_own_player_id(said))
    if isinstance(claimed, str) and claimed.isprintable() and 0 < len(claimed) <= 100:
        bench.agent_id = claimed


def _check_game_type(bench: Subject, url: str, game_type: str) -> None:
    """Raise UserError if the player names its games, and this one isn't among them."""
    games = _player_meta(bench).get("game_types")
    if not isinstance(games, list) or not games or not all(isinstance(game, str) for game in games):
        return
    if not supports_game(games, game_type):
        first, named = (to_printable(text, MAX_SENTENCE) for text in (games[0], ", ".join(games)))
        raise UserError(f"the player at {url} takes {named}, and {game_type} was to be played; say --game {first}")


def _make_practice_player(bench: Subject, url: str, game_type: str) -> PracticePlayer:
    def token() -> str | None:
        manager = bench.manager
        heard = manager.find_registration(url) if manager else None
        if manager is None or heard is None or manager.get_agent_id(heard) != bench.agent_id:
            return None  # somebody else may have registered under the id that it brought from another league
        return manager.tokens[bench.agent_id]

    games = _player_meta(bench).get("game_types")
    takes_any = isinstance(games, list) and ANY_GAME in games and game_type not in games
    move_method: Literal["make_move"] | None = "make_move" if takes_any else None
    protocol = PROTOCOL_V1 if isinstance(bench, V1PlayerSubject) else PROTOCOL_V2
    return PracticePlayer(bench.agent_id, url, token, protocol, move_method)


def _choose_display_name(bench: Subject, url: str) -> str:
    """Return the display name of the registration, else the address."""
    name = _player_meta(bench).get("display_name")
    return to_printable(name, MAX_SENTENCE) if isinstance(name, str) and name.strip() else url


def _player_meta(bench: Subject) -> Mapping[str, Any]:
    """Return `player_meta` of the registration; empty if there is none."""
    if bench.registration is None:
        return {}
    meta = normalise("LEAGUE_REGISTER_REQUEST", bench.registration.message)[0].get("player_meta")
    return meta if isinstance(meta, dict) else {}
