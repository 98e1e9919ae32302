"""`play(choose)`: runs a function as a player of a league. Also the terminal output of such players."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_league.config import ConfigLoader, SystemConfig
from agent_league.config.home import HOME_FOLDER, find_home, make_home
from agent_league.errors import AgentLeagueError, UserError
from agent_league.games.registry import game_types, source_names
from agent_league.http.hosts import choose_listen_host, own_endpoint, parse_manager_endpoint
from agent_league.http.sign_up_address import SIGN_UP_VARIABLE, choose_manager_address
from agent_league.launch.agent_plan import AgentListeners, AgentPlan, PlayerPlan
from agent_league.launch.serving import check_ports, run_async, serve_agents
from agent_league.launch.steady_output import nonblocking_output
from agent_league.log import JsonLogger
from agent_league.model.agents import ANY_GAME
from agent_league.model.looks import COLOR_EXPECTED, SIGN_EXPECTED, is_color, is_sign
from agent_league.model.names import VERSION_EXPECTED, is_agent_version, list_known_names
from agent_league.players.app import PlayerSettings
from agent_league.players.descriptions import describe_event
from agent_league.players.events import GameErrorReported, LeagueJoined, MatchOver, PlayerEvent
from agent_league.players.observation import Move, Observation
from agent_league.referee.settings import RefereeSettings
from agent_league.storage.paths import DataPaths
from agent_league.text import MAX_SENTENCE, quote, redact_keys, redact_tokens, shorten, to_printable

"""Characters of a referee's reason that are printed."""
ChooseMove = Callable[[Observation], Move | Awaitable[Move]]


class FunctionStrategy:
    """A strategy that calls a function."""

    def __init__(self, choose: ChooseMove) -> None:
        self.choose = choose


def play(
    choose: ChooseMove,
    name: str = "My Agent",
    games: str | Sequence[str] = ("even_odd",),
    port: int = 8101,
    manager: str = "http://localhost:8000/mcp",
    host: str | None = None,
    public_url: str | None = None,
    dial_out: bool = False,
    version: str = "1.0.0",
    color: str = "",
    avatar: str = "",
) -> None:
    """Joins a league as a player that decides with `choose`; the command line may name another name, port and manager.

    It listens on `host`, by default the address by which it reaches the manager, and is called there or at
    `public_url`; with `dial_out` it needs no address: it keeps a connection to the league's server, as behind a router
    it must. `games` are those that it takes, by name: one, or several; "*" is any. `version` tells one state of your
    code from the next: a practice ladder rates each apart. Pages show it in `color`, such as "#c0392b", and with
    `avatar`, an emoji or initials; what is empty is made of its name. A program ends here as the command `league` does:
    with a sentence and an exit code, not with a traceback.
    """
    try:
        own = OwnWords(name, port, manager, host, public_url, dial_out, version, color, avatar)
        _play(choose, _parse_arguments(own), _check_game_names(games))
    except AgentLeagueError as error:
        print_player_remark(f"{name}: {error}")
        sys.exit(2 if isinstance(error, UserError) else 1)


@dataclass(frozen=True, slots=True)
class OwnWords:
    """What a program says of its player; the command line may say otherwise."""

    name: str
    port: int
    manager: str
    host: str | None
    public_url: str | None
    dial_out: bool
    version: str
    color: str
    avatar: str


def _parse_arguments(own: OwnWords) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=f"{own.name}: a player for Agent League.")
    parser.add_argument(
        "--port", type=_parse_port, default=str(own.port), help="the port to serve (default: %(default)s)"
    )
    shown = redact_keys(own.manager).replace("%", "%%")
    parser.add_argument("--manager", help=f"the League Manager's address (default: ${SIGN_UP_VARIABLE}, else {shown})")
    parser.add_argument("--key-file", type=Path, help="a file with your team's sign-up address, or with its key")
    parser.set_defaults(default=own.manager)
    parser.add_argument("--host", default=own.host, help="the address to listen on (default: towards the manager)")
    parser.add_argument("--public-url", default=own.public_url, help="the address by which the league calls it")
    parser.add_argument(
        "--dial-out",
        action=argparse.BooleanOptionalAction,
        default=own.dial_out,
        help="need no address (behind a router)",
    )
    parser.add_argument("--name", default=own.name, help="the name to show (default: %(default)s)")
    parser.add_argument(
        "--version",
        type=_check_version,
        default=str(own.version),
        help="the version to register as (default: %(default)s)",
    )
    parser.add_argument("--color", type=_check_color, default=str(own.color), help="its colour on pages, as #c0392b")
    parser.add_argument("--avatar", type=_check_sign, default=str(own.avatar), help="its sign on pages, as an emoji")
    parser.add_argument("--home", type=Path, default=None, help="the SHARED folder for history and logs")
    parser.add_argument("--seed", default=None, help="makes the dice in `observation.random` repeatable")
    parser.add_argument("--practice", action="store_true", help="answer anybody, with or without the manager's word")
    after = parser.add_mutually_exclusive_group()
    after.add_argument("--exit-when-done", action="store_true", help="end after LEAGUE_COMPLETED")
    after.add_argument("--rejoin", action="store_true", help="after LEAGUE_COMPLETED, wait for the next league there")
    after.add_argument("--stay", dest="rejoin", action="store_true", help=argparse.SUPPRESS)  # its name in 0.x
    return parser.parse_args()


def _parse_port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"expected a port from 1 to 65535, found {text!r}")
    return int(text)


def _check_version(text: str) -> str:
    if not is_agent_version(text):
        raise argparse.ArgumentTypeError(f"{VERSION_EXPECTED}, found {text!r}")
    return text


def _check_color(text: str) -> str:
    if text and not is_color(text):
        raise argparse.ArgumentTypeError(f"expected {COLOR_EXPECTED}, found {text!r}")
    return text


def _check_sign(text: str) -> str:
    if text and not is_sign(text):
        raise argparse.ArgumentTypeError(f"expected {SIGN_EXPECTED}, found {text!r}")
    return text


def _check_game_names(games: Any) -> tuple[str, ...]:
    """Check the shape of `games` and return them; unknown names get a remark, since only the league may know them."""
    named = (games,) if isinstance(games, str) else games
    if not isinstance(named, Sequence) or not named or not all(isinstance(game, str) and game for game in named):
        raise UserError(f'games: expected a game\'s name, a list of names, or "*" for any; found {quote(games)}')
    known = game_types()
    for game in named:
        if game not in (*known, ANY_GAME) and game.partition(":")[0] not in source_names():
            there = list_known_names(game, known)
            print_player_remark(f"No game {quote(game)} is installed here {there}; it is played where a league has it.")
    return tuple(named)


def _play(choose: ChooseMove, arguments: argparse.Namespace, games: tuple[str, ...]) -> None:
    home = arguments.home or find_home(Path.cwd()) or Path(HOME_FOLDER)
    make_home(home)
    system = ConfigLoader(home).load_system()
    manager = choose_manager_address(arguments.manager, arguments.key_file, parse_manager_endpoint(arguments.default))
    host = choose_listen_host(arguments.host, manager)
    settings = PlayerSettings(
        system=system.without_caller_checks() if arguments.practice else system,
        home=home,
        manager=manager,
        endpoint=own_endpoint(host, arguments.port, system.network.base_host, manager, arguments.public_url),
        wanted_id=f"player-{arguments.port}",
        display_name=arguments.name,
        version=arguments.version,
        color=arguments.color,
        avatar=arguments.avatar,
        game_types=games,
        seed=arguments.seed,
        exit_when_done=arguments.exit_when_done,
        stay=arguments.rejoin,
    )
    seat = PlayerPlan(settings, arguments.port, host, strategy=FunctionStrategy(choose), dial_out=arguments.dial_out)
    check_ports([seat])
    run_async(
        serve_until_interrupted(
            [seat],
            AgentListeners(on_player_event=print_player_event, on_remark=print_player_remark),
            lambda: print_waiting(settings, dials_out=arguments.dial_out),
        )
    )


def open_orchestrator_log(home: Path, system: SystemConfig) -> JsonLogger:
    """Open `logs/system/orchestrator.log.jsonl`: when any command started and ended agents of this folder."""
    return JsonLogger(
        "orchestrator", log_root=DataPaths(home).logs_folder, folder="system", **system.logging.logger_options
    )


async def serve_until_interrupted(
    seats: Sequence[AgentPlan], watchers: AgentListeners, ready: Callable[[], Any] | None = None
) -> None:
    """Serve agents until SIGINT or SIGTERM; start and end are written to the system's log."""
    settings = seats[0].settings
    log = open_orchestrator_log(settings.home, settings.system)
    agents = [{"agent": seat.title, "host": seat.host, "port": seat.port} for seat in seats]
    log.info("agents_started", pid=os.getpid(), agents=agents)
    try:
        with nonblocking_output():
            await serve_agents(seats, interrupt_event(), watchers, ready)
    except AgentLeagueError as error:
        log.error("agents_failed", pid=os.getpid(), error=str(error))
        raise
    else:
        log.info("agents_stopped", pid=os.getpid())
    finally:
        log.close()


def interrupt_event() -> asyncio.Event:
    """Return an event that SIGINT and SIGTERM set; they no longer end the process."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stop.set)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
    return stop


def print_waiting(settings: PlayerSettings | RefereeSettings, *, dials_out: bool = False) -> None:
    """Print an agent's endpoint and its manager's, so that a wrong address doesn't look like a hang."""
    place = "dials out and" if dials_out else f"at {settings.endpoint}"
    print_player_remark(f"{settings.display_name} {place} registers with {settings.manager}")


def print_player_remark(sentence: str) -> None:
    sys.stderr.write(to_printable(redact_tokens(sentence)) + "\n")


def print_player_event(player_id: str, happening: PlayerEvent) -> None:
    """Print one line for a registration, a result or a problem of a player."""
    if isinstance(happening, LeagueJoined):
        print(f"Registered as {player_id}.", flush=True)  # noqa: T201 - a player's own terminal
    elif isinstance(happening, MatchOver):
        game = happening.game
        reason = game.details.get("reason")
        why = f" ({shorten(reason, MAX_SENTENCE)})" if reason else ""
        print(to_printable(f"{game.match_id} against {game.opponent_id}: {game.outcome}{why}"), flush=True)  # noqa: T201
    elif isinstance(happening, GameErrorReported):
        print(to_printable(describe_event(happening, player_id, str)), flush=True)  # noqa: T201
