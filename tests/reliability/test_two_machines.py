"""A league over two machines: network namespaces with a cable between them."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import agent_league.cli
from agent_league.storage.paths import DataPaths
from tests.cli.command import LEAGUE, LEAGUE_ID, Running, environment
from tests.reliability.machines import MachinesUnavailable, Prefix, connect_machines

STARTER = Path(agent_league.cli.__file__).parent / "starters" / "javascript" / "player.js"
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
            stack.enter_context(started(*there, node, STARTER, "--port", 8104, "--manager", MANAGER))
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
        carried = start(*there, *LEAGUE, "connect", "http://localhost:8101/mcp", "--to", MANAGER, "--home", next(homes))
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
