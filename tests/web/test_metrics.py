"""`/metrics` of every agent, the page that explains them, and the dashboard that draws them."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from agent_league.http.memory import MemoryNetwork
from agent_league.launch.agent_plan import AgentPlan
from agent_league.launch.in_process import run_agents
from agent_league.launch.serving import serve_agents
from agent_league.league.app import LeagueManager
from agent_league.model.agents import Role
from agent_league.web.metrics import METRICS, MetricsPage, MetricType
from tests.conftest import BOUND, NO_PAUSES, PlanMaker, free_ports

DOCS = Path(__file__).parents[2] / "docs"
TOLD_BY = {"every agent": frozenset(Role)} | {
    role.removeprefix("league_"): frozenset({role}) for role in (Role.LEAGUE_MANAGER, Role.REFEREE, Role.PLAYER)
}
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(text: str) -> Samples:
    families = text_string_to_metric_families(text)
    return {(one.name, frozenset(one.labels.items())): one.value for family in families for one in family.samples}


def scraped(page: MetricsPage) -> Samples:
    return samples(page()[0].decode())


def value(found: Samples, name: str, **labels: str) -> float:
    return found[f"agent_league_{name}", frozenset(labels.items())]


def total(found: Samples, name: str) -> float:
    return sum(number for (sample, _), number in found.items() if sample == f"agent_league_{name}")


@pytest.fixture
async def pages(plan: PlanMaker) -> dict[Role, MetricsPage]:
    """The manager, the referee and one of the four players after a league in which one never answered."""
    made = plan(players=4, referees=1, overrides=NO_PAUSES, seed="7")
    network = MemoryNetwork()
    async with asyncio.timeout(BOUND), run_agents(network, made.agent_plans) as agents:
        manager, referee, player, *_ = agents
        assert isinstance(manager, LeagueManager)
        network.detach("http://localhost:8104/mcp")
        await manager.completed.wait()
        return {agent.role: MetricsPage(agent) for agent in (manager, referee, player)}


async def test_the_numbers_of_a_league_are_those_of_its_season(pages: dict[Role, MetricsPage]) -> None:
    found = scraped(pages[Role.LEAGUE_MANAGER])
    assert value(found, "matches_planned") == total(found, "matches_finished_total") == 6
    assert value(found, "matches_finished_total", outcome="TECHNICAL_LOSS", ending="disconnected") == 1
    assert value(found, "rounds_completed") == value(found, "rounds_planned") == 3
    assert value(found, "league_phase", phase="COMPLETED") == 1
    assert total(found, "agents") == 5
    assert value(found, "queue_length", queue="matches_due") == 0
    assert value(found, "calls_served_total", method="register_player", outcome="ok") == 4
    assert value(found, "calls_served_total", method="report_match_result", outcome="ok") == 6
    assert value(found, "call_served_seconds_count", method="report_match_result") == 6
    assert value(found, "agent_latency_seconds", agent_id="P01", role="player") < BOUND
    assert value(found, "agent_unanswered_total", agent_id="P04", role="player") > 0
    assert value(found, "agent_unanswered_total", agent_id="P01", role="player") == 0


async def test_a_referee_tells_of_its_matches_and_of_questions_that_it_asked_again(
    pages: dict[Role, MetricsPage],
) -> None:
    found = scraped(pages[Role.REFEREE])
    assert total(found, "matches_refereed_total") == 6
    assert value(found, "matches_running") == 0
    assert value(found, "retries_total", method="handle_game_invitation") > 0
    asked = value(found, "calls_made_total", method="choose_parity", outcome="ok")
    assert value(found, "call_made_seconds_bucket", method="choose_parity", le="+Inf") == asked


async def test_a_player_tells_of_its_decisions_and_games(pages: dict[Role, MetricsPage]) -> None:
    found = scraped(pages[Role.PLAYER])
    assert value(found, "decision_seconds_count") == 2
    assert total(found, "games_total") == 3
    assert value(found, "queue_length", queue="decisions") == 0


async def test_buckets_grow_up_to_the_count(pages: dict[Role, MetricsPage]) -> None:
    found = scraped(pages[Role.LEAGUE_MANAGER])
    buckets: dict[float, float] = {
        float(dict(labels)["le"]): number
        for (name, labels), number in found.items()
        if name == "agent_league_call_made_seconds_bucket" and ("method", "start_match") in labels
    }
    counts = [buckets[bound] for bound in sorted(buckets)]
    assert counts == sorted(counts)
    assert counts[-1] == value(found, "call_made_seconds_count", method="start_match")


@pytest.mark.parametrize("role", list(Role))
async def test_every_metric_of_the_table_is_told_and_no_other(role: Role, pages: dict[Role, MetricsPage]) -> None:
    families = {family.name: family for family in text_string_to_metric_families(pages[role]()[0].decode())}
    ours = {name: family.type for name, family in families.items() if name.startswith("agent_league_")}
    assert ours == {f"agent_league_{metric.name}": str(metric.kind) for metric in METRICS if role in metric.roles}
    assert "process_cpu_seconds" in families or sys.platform != "linux"
    for metric in METRICS:
        for sample in families[f"agent_league_{metric.name}"].samples if role in metric.roles else ():
            assert set(sample.labels) - {"le"} == set(metric.labels)


async def test_no_name_address_or_token_is_told(pages: dict[Role, MetricsPage]) -> None:
    for page in pages.values():
        text = page()[0].decode()
        assert not re.search(r"Alpha|localhost|http|tok-|admin", text)


async def test_who_asks_for_openmetrics_gets_it(pages: dict[Role, MetricsPage]) -> None:
    text, content_type = pages[Role.PLAYER]("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert text.endswith(b"# EOF\n")


async def test_every_agent_serves_them_also_without_pages(plan: PlanMaker) -> None:
    port = free_ports(3)
    where = {"manager_port": port, "referee_port": port + 1, "player_port": port + 2}
    made = plan(players=2, referees=1, **where)
    manager = replace(made.manager, settings=replace(made.manager.settings, serves_pages=False))
    seats: Sequence[AgentPlan] = [manager, *made.referees, made.players[0]]
    stop, ready = asyncio.Event(), asyncio.Event()
    serving = asyncio.create_task(serve_agents(seats, stop, ready=ready.set))
    roles = []
    async with asyncio.timeout(BOUND), aiohttp.ClientSession() as session:
        await ready.wait()
        for seat in seats:
            async with session.get(f"http://127.0.0.1:{seat.port}/metrics") as response:
                assert response.status == 200
                assert response.headers["content-type"].startswith("text/plain; version=")
                found = samples(await response.text())
            (labels,) = [dict(labels) for name, labels in found if name == "agent_league_build_info"]
            roles.append(labels["role"])
        async with session.get(f"http://127.0.0.1:{port}/") as response:
            assert response.status == 404
        stop.set()
        await serving
    assert roles == ["league_manager", "referee", "player"]


def test_an_agent_that_nobody_measures_does_not_load_the_library() -> None:
    script = (
        "import sys, agent_league.launch.serving, agent_league.players.app; print('prometheus_client' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=BOUND, check=True)
    assert said.stdout == "False\n"


def test_the_page_s_table_is_the_table() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) \| (.*?) \| (.*?) \|$", (DOCS / "watching.md").read_text(), re.M)
    told = [
        (name, kind, tuple(re.findall(r"`(\w+)`", labels)), TOLD_BY[by], says) for name, kind, labels, by, says in rows
    ]
    assert told == [(one.full_name, str(one.kind), one.labels, one.roles, one.meaning) for one in METRICS]


def expressions() -> list[str]:
    board = json.loads((DOCS / "grafana.json").read_text())
    targets = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    return [*targets, *(variable["definition"] for variable in board["templating"]["list"])]


async def test_the_dashboard_draws_only_what_there_is(pages: dict[Role, MetricsPage]) -> None:
    """Also where nobody has failed yet: a counter that has counted nothing is there all the same."""
    known = {name for page in pages.values() for name, _ in scraped(page)}
    declared = {metric.full_name for metric in METRICS}
    for expression in expressions():
        used = set(re.findall(r"\b(?:agent_league|process)_\w+", expression))
        assert used
        assert used <= known | declared, expression
    labels = {label for metric in METRICS for label in metric.labels} | {"le", "job", "instance"}
    for expression in expressions():
        for group in re.findall(r"by \(([^)]*)\)", expression):
            assert set(re.split(r",\s*", group)) <= labels, expression


def test_every_metric_of_ours_is_on_the_dashboard() -> None:
    text = " ".join(expressions())
    unseen = {"state", "league_phase", "agent_unanswered", "matches_refereed"}
    shown = {one.name for one in METRICS if re.search(rf"\b{one.full_name}(_bucket)?\b", text)}
    assert {one.name for one in METRICS} - shown == unseen


def test_the_dashboard_asks_whoever_imports_it_for_its_source() -> None:
    board: dict[str, Any] = json.loads((DOCS / "grafana.json").read_text())
    (wanted,) = board["__inputs"]
    assert (wanted["name"], wanted["pluginId"]) == ("DS_PROMETHEUS", "prometheus")
    assert {panel["datasource"]["uid"] for panel in board["panels"]} == {"${DS_PROMETHEUS}"}
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    assert {metric.kind for metric in METRICS} == set(MetricType)
