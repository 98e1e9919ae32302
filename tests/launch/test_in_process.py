"""The same league in one process without sockets, and as a fleet of processes over HTTP."""

from pathlib import Path

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.launch.in_process import play_in_process
from agent_league.launch.plan import LeaguePlan, LeagueRequest, make_league_plan
from agent_league.launch.processes import LeagueProcesses
from agent_league.model.events import LeagueCompleted
from tests.conftest import free_ports


def seeded_plan(home: Path, seed: str) -> LeaguePlan:
    make_home(home)
    port = free_ports(8)
    request = LeagueRequest(
        home=home,
        players=5,
        referees=2,
        seed=seed,
        manager_port=port,
        referee_port=port + 1,
        player_port=port + 3,
        strategies=("random", "frequency", "pattern", "markov"),
    )
    return make_league_plan(ConfigLoader(home), request)


async def test_a_seed_gives_the_same_table_whatever_carries_the_messages(tmp_path: Path) -> None:
    manager, _ = await play_in_process(seeded_plan(tmp_path / "memory", "7"))
    with LeagueProcesses(seeded_plan(tmp_path / "http", "7").group_by_process()) as fleet:
        completed = next(event for event in fleet.iter_events() if isinstance(event, LeagueCompleted))
    other, _ = await play_in_process(seeded_plan(tmp_path / "other", "8"))
    assert completed.standings == manager.state.standings()
    assert completed.standings != other.state.standings()
