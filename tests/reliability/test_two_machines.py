"""A league over two machines: network namespaces with a cable between them."""

import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

import agent_league.cli
from agent_league.config.home import make_home
from agent_league.http.sign_up_address import add_sign_up_key
from agent_league.league.class_roster import renew_key
from agent_league.storage.access import TeamRow
from agent_league.storage.directory import ServerDirectory
from agent_league.storage.paths import DataPaths
from agent_league.storage.sql import SqlStore
from agent_league.storage.sql_access import SqlAccessStore
from tests.cli.command import LEAGUE, LEAGUE_ID, Running, environment
from tests.conftest import BOUND
from tests.reliability.machines import MachinesUnavailable, Prefix, connect_machines
from tests.serve.stage import write_league
from tests.storage.postgres import MISSING as POSTGRES_MISSING
from tests.storage.postgres import postgres_server, programs

STARTER = Path(agent_league.cli.__file__).parent / "starters" / "javascript"
LATE_LISTENER = Path(__file__).with_name("late_listener.py")
TWENTY_LINES = Path(__file__).parents[2] / "examples" / "dial_out.py"
EXAMPLE = Path(__file__).parents[2] / "examples" / "my_player.py"
MANAGER = "http://10.77.0.1:8000/mcp"


@pytest.fixture
def machines() -> Iterator[tuple[Prefix, Prefix]]:
    """What a command begins with on each of two machines, 10.77.0.1 and 10.77.0.2."""
    try:
        with connect_machines() as both:
            yield both
    except MachinesUnavailable as error:
        pytest.skip(str(error))


@contextmanager
def started(*command: object) -> Iterator[Running]:
    process = Running([str(part) for part in command], env=environment())
    try:
        yield process
    finally:
        process.close()


def test_players_on_another_machine_play_as_the_documents_tell_them(
    machines: tuple[Prefix, Prefix], tmp_path: Path
) -> None:
    here, there = machines
    players = 4 if shutil.which("node") else 3
    homes = iter([["--home", tmp_path / str(number)] for number in range(9)])
    with ExitStack() as stack:

        def start(*command: object) -> Running:
            return stack.enter_context(started(*command, *next(homes)))

        def start_referee(*command: object) -> Running:
            """In the manager's own folder, where the key of its referees is."""
            return stack.enter_context(started(*command, "--home", tmp_path / "0"))

        manager = start(*here, *LEAGUE, "manager", "--host", "0.0.0.0", "--players", players, "--referees", 1)
        manager.prints(f"Waiting for {players} players")
        start_referee(*here, *LEAGUE, "referee", "--manager", MANAGER)
        start(*here, *LEAGUE, "player", "--name", "At home")
        wrong = start(*there, *LEAGUE, "player", "--port", 8103, "--host", "127.0.0.1", "--manager", MANAGER)
        wrong.prints("but you call from 10.77.0.2: start with --public-url")
        mine = start(*there, sys.executable, EXAMPLE, "--manager", MANAGER)
        start(*there, *LEAGUE, "player", "--port", 8102, "--host", "0.0.0.0", "--manager", MANAGER)
        if node := shutil.which("node"):
            starter = shutil.copytree(STARTER, tmp_path / "starter") / "player.js"
            stack.enter_context(started(*there, node, starter, "--port", 8104, "--manager", MANAGER))
        manager.prints("Champion")
        mine.prints("The league is over")
    assert "Stay or Change at http://10.77.0.2:8101/mcp" in manager.text
    assert "at http://10.77.0.2:8102/mcp" in manager.text
    assert players == 3 or "My Agent at http://10.77.0.2:8104/mcp" in manager.text
    assert "TECHNICAL_LOSS" not in manager.text
    assert "localhost" not in mine.text, "a manager elsewhere doesn't send its agents home"


def test_an_agent_that_can_t_be_called_yet_holds_up_the_start_alone(
    machines: tuple[Prefix, Prefix], tmp_path: Path
) -> None:
    here, there = machines
    homes = iter([["--home", tmp_path / str(number)] for number in range(9)])
    with ExitStack() as stack:

        def start(*command: object) -> Running:
            return stack.enter_context(started(*command))

        options = ["--host", "0.0.0.0", "--players", 2, "--referees", 1, *next(homes)]
        manager = start(*here, *LEAGUE, "manager", *options)
        manager.prints("Waiting for 2 players")
        ghost = start(*there, sys.executable, LATE_LISTENER, "10.77.0.2", 8105, MANAGER, "Ghost", "never")
        ghost.prints("Registered as P01.")
        manager.prints("P01 is not reachable yet, and gets no match before it is: http://10.77.0.2:8105/mcp")
        start(*here, *LEAGUE, "referee", "--manager", MANAGER, "--home", tmp_path / "0")
        start(*here, *LEAGUE, "player", "--name", "At home", *next(homes))
        manager.prints("At home at http://localhost")
        late = start(*there, sys.executable, LATE_LISTENER, "10.77.0.2", 8106, MANAGER, "Late", 1)
        late.prints("Registered as P03.")
        manager.prints("P03 can be called")
        manager.prints("Champion")
    begun = manager.text.index("The league starts")
    assert manager.text.index("P03 can be called") < begun, "one that registered is not one that plays"
    assert "P01 is suspended: it is not reachable" in manager.text
    assert "P03 loses" not in manager.text


def test_players_that_can_t_be_called_dial_out_and_lose_nothing(
    machines: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    """Ours, one of the standard library behind `league connect`, and one behind twenty lines of plain HTTP.

    The referee is on another machine than the server, and calls them at their seats there.
    """
    here, there = machines
    homes = iter([tmp_path / str(number) for number in range(9)])
    with ExitStack() as stack:

        def start(*command: object) -> Running:
            return stack.enter_context(started(*command))

        shared = next(homes)
        manager = start(
            *here, *LEAGUE, "manager", "--host", "0.0.0.0", "--players", 4, "--referees", 1, "--home", shared
        )
        manager.prints("Waiting for 4 players")
        refused = start(*there, sys.executable, LATE_LISTENER, "127.0.0.1", 8101, MANAGER, "Alone", 0)
        manager.prints("or let `league connect` carry your agent")
        refused.close()
        carried = start(
            *there, *LEAGUE, "connect", "http://localhost:8101/mcp", "--manager", MANAGER, "--home", next(homes)
        )
        carried.prints("Now start your agent")
        start(*there, sys.executable, LATE_LISTENER, "127.0.0.1", 8101, MANAGER, "Carried", 0)
        carried.prints("Carried is registered as P01.")
        start(*there, sys.executable, TWENTY_LINES, MANAGER, "http://localhost:8102/mcp")
        manager.prints("P01 can be called")
        start(*there, *LEAGUE, "player", "--dial-out", "--name", "Ours", "--manager", MANAGER, "--home", next(homes))
        manager.prints("P02 can be called")
        start(*there, sys.executable, LATE_LISTENER, "127.0.0.1", 8102, MANAGER, "Polled", 0)
        manager.prints("Polled at http://10.77.0.1:8000/seats/S")
        start(*here, *LEAGUE, "player", "--name", "At home", "--port", 8103, "--home", next(homes))
        key = DataPaths(shared).referee_key_file(LEAGUE_ID).read_text().strip()
        join = MANAGER.replace("/mcp", f"/join/{key}/mcp")
        start(*there, *LEAGUE, "referee", "--manager", join, "--home", next(homes))
        manager.prints("Champion")
    assert "at http://10.77.0.2:8001/mcp" in manager.text, "the referee is elsewhere, too"
    assert manager.text.count("at http://10.77.0.1:8000/seats/S") == 3
    assert "loses" not in manager.text
    assert "TECHNICAL_LOSS" not in manager.text


PUBLIC = "http://10.77.0.2:8000"


def write_referee_key(store: str, league_id: str) -> str:
    """The address by which a referee on any machine may come into a league."""
    database = SqlStore(store)
    with closing(database):
        issued = renew_key(TeamRow(league_id, "referees", "Referees", "referee"), "2025-01-15T10:00:00Z")
        SqlAccessStore(database).write_teams([issued.team])
    return add_sign_up_key(f"{PUBLIC}/leagues/{league_id}/mcp", issued.key)


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so in the store, of which nobody tells us."""
    due = time.monotonic() + BOUND
    while not is_so():
        assert time.monotonic() < due
        time.sleep(0.05)


def test_a_league_goes_on_at_a_server_on_another_machine_with_agents_and_referee_that_dial_out(
    machines: tuple[Prefix, Prefix], tmp_path: Path
) -> None:
    """Two servers on two machines, one of them killed with -9; the referee on that machine goes on with its match."""
    if (programs_folder := programs()) is None:
        pytest.skip(POSTGRES_MISSING)
    with ExitStack() as stack:
        store = stack.enter_context(postgres_server(programs_folder)).socket_address()

        def start(*command: object) -> Running:
            return stack.enter_context(started(*command))

        servers, homes = [], [tmp_path / f"server{number}" for number in (1, 2)]
        for number, (machine, home) in enumerate(zip(machines, homes, strict=True), start=1):
            make_home(home)
            own = [
                "--host",
                f"10.77.0.{number}",
                "--internal-url",
                f"http://10.77.0.{number}:9000",
                "--public-url",
                PUBLIC,
            ]
            options = ["--store", store, "--referees", 0, "--set", "network.lease_sec=2", "--home", home]
            servers.append(start(*machine, *LEAGUE, "serve", *own, *options))
            servers[-1].prints("Serving ")
        leagues = ["L1", "L2", "L3"]
        for league_id in leagues:
            rules = {"game_type": "prisoners_dilemma", "game_parameters": {"repeat": 60}}
            write_league(homes[0], league_id, **rules, participants={"start_with": 3})
        database = stack.enter_context(closing(SqlStore(store)))
        directory = ServerDirectory(database, 2.0)

        def find_owner(league_id: str) -> str:
            return getattr(directory.find_owner(league_id), "address", "")

        def count_results() -> int:
            saved = database.read_season(league)
            return sum(match.result is not None for match in saved.matches) if saved else 0

        wait_until(lambda: all(find_owner(league_id) for league_id in leagues))
        league = next(league_id for league_id in leagues if find_owner(league_id) == "http://10.77.0.1:9000")
        wait_until(lambda: database.read_season(league) is not None)
        referee = write_referee_key(store, league)
        start(*machines[0], *LEAGUE, "referee", "--dial-out", "--manager", referee, "--home", tmp_path / "referee")
        for number, machine in enumerate((*machines, machines[0])):
            at = ["--manager", f"{PUBLIC}/leagues/{league}/mcp", "--home", tmp_path / f"player{number}"]
            start(*machine, *LEAGUE, "player", "--dial-out", "--name", f"Player {number}", *at)
        wait_until(lambda: count_results() >= 1)
        servers[0].signal(signal.SIGKILL)
        wait_until(lambda: find_owner(league) == "http://10.77.0.2:9000")
        wait_until(lambda: count_results() == 3)
        saved = database.read_season(league)
        assert saved is not None
        assert [(match.result or {}).get("terminations") for match in saved.matches] == [{}] * 3
        shown = start(*machines[1], *LEAGUE, "servers", "--store", store)
        shown.prints("10.77.0.2")
