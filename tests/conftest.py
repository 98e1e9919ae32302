"""What all tests share: homes, plans, and free ports."""

import gc
import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from random import randrange
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.games import registry
from agent_league.launch.plan import LeaguePlan, LeagueRequest, make_league_plan
from agent_league.log import JsonLogger

BOUND = 300
"""Seconds after which something counts as hanging, on however busy a machine. Nothing waits for them to pass."""

PORTS_OF_WORKERS = range(12_000, 32_000)
"""Below those that systems give to outgoing connections."""
_ports_taken: dict[int, int] = {}
"""How many ports this process has given out, by the first of its own."""

FAST = {
    "timeouts.game_join_ack_timeout_sec": 0.2,
    "timeouts.move_timeout_sec": 0.2,
    "timeouts.game_over_timeout_sec": 0.2,
    "timeouts.generic_response_timeout_sec": 0.5,
    "retry_policy.base_delay_sec": 0.01,
}
"""Limits for tests with silent peers: as short as a busy machine allows."""
NO_PAUSES = {"retry_policy.base_delay_sec": 0.01}
"""For tests in which somebody fails and nobody is silent: the limits are the shipped ones, which nobody reaches."""

LONG = (
    "tests/reliability",
    "tests/browser",
    "tests/simulation",
    "tests/foreign",
    "tests/check",
    "tests/mcp",
    "tests/cli",
    "tests/gateway",
    "tests/bench",
)
"""Folders whose tests start processes or play for long."""

SLOW = (
    "tests/bench/test_command.py",
    "tests/bench/test_drill.py",
    "tests/bench/test_earlier.py",
    "tests/bench/test_memory.py",
    "tests/bench/test_slow_peers.py",
    "tests/browser",
    "tests/check/test_agreement.py",
    "tests/check/test_dialects.py",
    "tests/cli/test_agent_folders.py",
    "tests/cli/test_agents.py::test_a_league_whose_referee_was_killed",
    "tests/cli/test_agents.py::test_a_manager_goes_on_with_an_unfinished_league_unless_told_to_begin_another[in the ",
    "tests/cli/test_agents.py::test_a_manager_plays_full_rounds_for_any_number_of_players",
    "tests/cli/test_agents.py::test_in_terminals_of_their_own_all_play_the_manager_s_game",
    "tests/cli/test_agents.py::test_league_start_starts_whoever_is_there",
    "tests/cli/test_check.py::test_an_agent_of_another_league_is_not_checked_and_says_how_it_can_be[referee]",
    "tests/cli/test_class.py::test_a_class_plays_with_its_keys",
    "tests/cli/test_experiment.py::test_ctrl_c",
    "tests/cli/test_join.py",
    "tests/test_how_to_pages.py",
    "tests/test_tutorials.py",
    "tests/test_bundle.py",
    "tests/test_wheel.py",
    "tests/league/test_ladder.py::test_a_hundred_players",
    "tests/serve/test_ladder_pages.py",
    "tests/simulation/test_ladder.py",
    "tests/league/test_ladder.py::test_what_is_kept_is_bounded",
    "tests/cli/test_limits.py",
    "tests/cli/test_new.py",
    "tests/cli/test_pages.py::test_a_run_waits_for_the_people_who_are_to_play_and_lets_them_look_at_the_end[--",
    "tests/cli/test_play.py",
    "tests/cli/test_scripts.py",
    "tests/cli/test_rejoin.py",
    "tests/cli/test_terminal.py",
    "tests/dial_out/test_twenty_lines.py",
    "tests/foreign/test_every_kind_of_agent.py",
    "tests/foreign/test_java.py",
    "tests/games/test_openspiel.py",
    "tests/games/test_pettingzoo.py",
    "tests/gateway/test_league.py",
    "tests/lab/experiment/test_called_players.py",
    "tests/lab/experiment/test_memory.py",
    "tests/test_experiments_page.py",
    "tests/gateway/test_page.py",
    "tests/lab/experiment/test_ray_engine.py",
    "tests/lab/test_evaluation_command.py",
    "tests/launch/test_play_function.py::test_a_function_may_wait_and_an_illegal_choice_costs_no_match",
    "tests/launch/test_play_function.py::test_a_taken_port_and_a_taken_name_end_with_a_sentence",
    "tests/launch/test_processes.py",
    "tests/llm/test_league.py",
    "tests/mcp/client/test_stdio.py::test_a_command_that_was_killed_is_noticed_by_the_heartbeat",
    "tests/mcp/test_client.py::test_agents_in_processes_of_their_own_answer_too",
    "tests/mcp/test_conformance.py",
    "tests/mcp/test_foreign_servers.py::test_servers_of_every_sdk",
    "tests/mcp/test_inspector.py",
    "tests/mcp/test_server_player.py",
    "tests/reliability",
    "tests/security/test_secrets.py",
    "tests/test_bad_input.py::test_very_long_values_in_every_field_of_every_message[player]",
    "tests/test_bad_input.py::test_very_long_values_in_every_field_of_every_message[referee]",
    "tests/test_comparing_page.py",
    "tests/test_docs.py::test_the_leagues_of_readme_and_front_page",
    "tests/test_games_page.py",
    "tests/security/test_visibility.py",
)
"""What only `./league test --all` runs: browsers, Node, Java, other people's games, processes that are killed, commands
that play for long; and single tests that take seconds for what others show more cheaply. Each is the beginning of a
test's full name; a test may also say `pytest.mark.slow` itself."""

MEMORY_FOLDER = Path("/dev/shm")
MEMORY_NEEDED = 2 * 1024**3

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

PlanMaker = Callable[..., LeaguePlan]


def pytest_configure() -> None:
    """Folders in memory where there is room for them, since databases wait for the disk.

    And a shell starts what runs in its background deaf to Ctrl-C, and the commands under test would inherit that.
    """
    if has_memory_folder():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY_FOLDER))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def has_memory_folder() -> bool:
    """Whether this machine keeps a folder in memory, with much room, in which programs may be run as well."""
    try:
        may_run = not os.statvfs(MEMORY_FOLDER).f_flag & os.ST_NOEXEC
    except (AttributeError, OSError):  # other systems than Linux
        return False
    return may_run and os.access(MEMORY_FOLDER, os.W_OK) and shutil.disk_usage(MEMORY_FOLDER).free > MEMORY_NEEDED


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file that would be left out as a whole isn't even read: its imports take longest."""
    place = collection_path.relative_to(config.rootpath).as_posix()
    return True if config.option.markexpr == "not slow" and place.startswith(SLOW) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Thousands of tests are no rubbish: nobody looks for any among them while they are collected, nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first, so that several workers end at the same time."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))
    for item in items:
        if item.nodeid.startswith(SLOW) or "postgres" in item.name or "database" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A SHARED folder with the shipped configuration."""
    folder = tmp_path / "SHARED"
    make_home(folder)
    return folder


@pytest.fixture
def plan(home: Path) -> PlanMaker:
    """Makes plans: `plan(players=4, overrides={...}, seed="7")`."""

    def make(overrides: dict[str, Any] | None = None, **request: Any) -> LeaguePlan:
        return make_league_plan(ConfigLoader(home, overrides or {}), LeagueRequest(home=home, **request))

    return make


@pytest.fixture
def log(tmp_path: Path) -> Iterator[JsonLogger]:
    """A log in a folder of its own."""
    log = JsonLogger("test", log_root=tmp_path)
    yield log
    log.close()


@pytest.fixture
def fresh_registry() -> Iterator[None]:
    """The games are looked for anew: for a test that puts a package on the path, and for those after it."""
    caches = (registry._find_entry_points, registry._load_file_games, registry.load_game, registry.load_source)
    for kept in caches:
        kept.cache_clear()
    yield
    for kept in caches:
        kept.cache_clear()


def free_port() -> int:
    """A port that nobody listens on at the moment."""
    return free_ports(1)


def free_ports(count: int) -> int:
    """The first of so many free ports in a row, below those that systems give to outgoing connections.

    A port from up there may be somebody's outgoing connection by the time that it is wanted. Each of several workers
    has ports of its own, and gives each out once before it gives one out again.
    """
    for _ in range(100):
        first = _take_ports(count)
        with ExitStack() as probes:
            try:
                for port in range(first, first + count):
                    probes.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except OSError:
                continue
            return first
    raise RuntimeError("no run of free ports")


def _take_ports(count: int) -> int:
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    share = len(PORTS_OF_WORKERS) // workers
    low = PORTS_OF_WORKERS.start + share * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    taken = _ports_taken.setdefault(low, randrange(share))
    taken = taken if taken + count <= share else 0
    _ports_taken[low] = taken + count
    return low + taken
