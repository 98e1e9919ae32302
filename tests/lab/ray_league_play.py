"""A league played over the nodes of a Ray cluster, for a test that has one."""

import asyncio
from pathlib import Path
from typing import Any

import orjson

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.lab.ray_league import spread_league
from agent_league.launch.in_process import play_in_process
from agent_league.launch.plan import LeaguePlan, LeagueRequest, make_league_plan
from agent_league.model.events import Event, LeagueCompleted, MatchFinished, MatchReplaced
from agent_league.model.results import Outcome
from agent_league.referee.verify import verify_match
from agent_league.storage.paths import DataPaths
from tests.conftest import free_port, free_ports
from tests.lab.experiment.ray_nodes import RayNode, RayNodes

PLAYERS, MATCHES = 4, 12


def make_plan(home: Path) -> LeaguePlan:
    make_home(home)
    overrides = {
        "scheduling.format": "double_round_robin",
        "heartbeat.interval_sec": 0.5,
        "heartbeat.lease_sec": 3,
    }
    request = LeagueRequest(
        home=home,
        players=PLAYERS,
        referees=2,
        seed="7",
        manager_port=free_port(),
        referee_port=free_ports(2),
        player_port=free_ports(PLAYERS),
        game="odds_and_evens",
        parameters={"repeat": 30},
    )
    return make_league_plan(ConfigLoader(home, overrides), request)


def check_league_over_nodes(folder: Path, nodes: RayNodes, node: RayNode) -> None:
    """Kill a node when half of the league is played.

    Until then every result is that of a league in one process; after it, all matches have a result, by agents that
    were started again, and none is a technical loss: what was lost with the node is played again.
    """
    nodes.wait_for_count(2)
    plan = make_plan(folder / "spread")
    remarks: list[str] = []
    events: list[Event] = []
    with spread_league(plan, nodes.address, remarks.append) as league, league:
        for event in league.iter_events(0.1, remarks.append):
            events += [event] if event is not None else []
            if isinstance(event, MatchFinished) and len(list_results(events)) == MATCHES // 2:
                node.kill()
    assert isinstance(events[-1], LeagueCompleted)
    assert [remark for remark in remarks if "was lost; they are started again." in remark]
    results = list_results(events)
    replaced = {event.match_id for event in events if isinstance(event, MatchReplaced)}
    assert len(results.keys() - replaced) == MATCHES
    lost = {match_id for match_id, (_, outcome, _) in results.items() if outcome is Outcome.TECHNICAL_LOSS}
    assert lost == replaced, remarks
    _, undisturbed = asyncio.run(play_in_process(make_plan(folder / "alone")))
    expected = list_results(undisturbed)
    before = dict(list(results.items())[: MATCHES // 2])
    assert before == {match_id: expected[match_id] for match_id in before}
    paths = DataPaths(plan.home)
    files = [paths.match_file(plan.league.league_id, match_id) for match_id in results]
    fetched = [orjson.loads(file.read_bytes()) for file in files if file.exists()]
    assert fetched, "the node that is left has sent what its referee has written"
    assert all(finding.ok for content in fetched for finding in verify_match(content))


def list_results(events: list[Event]) -> dict[str, Any]:
    results = [event.result for event in events if isinstance(event, MatchFinished)]
    return {result.match_id: (result.players, result.outcome, result.winner) for result in results}
