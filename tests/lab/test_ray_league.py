"""How a league is planned over the nodes of a cluster; test_ray_engine.py plays one on a real cluster."""

from agent_league.http.sign_up_address import find_sign_up_key
from agent_league.lab.ray_league import give_keys, place_manager
from agent_league.launch.agent_plan import RefereePlan
from agent_league.storage.paths import DataPaths
from tests.conftest import PlanMaker


def test_the_manager_listens_in_the_cluster_and_referees_alone_get_the_league_s_key(plan: PlanMaker) -> None:
    placed = place_manager(plan(players=4, referees=2), "10.0.0.5", ["10.0.0.5", "10.0.0.6"])
    assert placed.manager.endpoint == f"http://10.0.0.5:{placed.manager.port}/mcp"
    assert {"10.0.0.5", "10.0.0.6", "localhost"} <= set(placed.manager.settings.system.network.allowed_hosts)
    seats = give_keys(placed)
    key = DataPaths(placed.home).referee_key_file(placed.league.league_id).read_text().strip()
    assert key
    assert len(seats) == 6
    for seat in seats:
        assert seat.manager_address
        assert find_sign_up_key(seat.manager_address) == (key if isinstance(seat, RefereePlan) else None)
    assert len({seat.settings.application_key for seat in seats if not hasattr(seat.settings, "expected_players")}) == 6


def test_on_one_machine_no_key_is_needed(plan: PlanMaker) -> None:
    placed = place_manager(plan(players=2, referees=1), "127.0.0.2", ["127.0.0.2", "127.0.0.3"])
    assert {seat.manager_address for seat in give_keys(placed)} == {placed.manager.endpoint}
    assert not DataPaths(placed.home).referee_key_file(placed.league.league_id).exists()
