"""The official conformance suite, in both revisions of MCP.

A fixture agent of ours passes everything that a revision requires of a server. Manager, referee and player don't have
the tools and prompts that most scenarios call by name; what they fail is in `baselines`, check by check, and a check
that passes all the same fails the test as a new failure does.
"""

import re
from pathlib import Path

import pytest

from agent_league.model.agents import Role
from tests.conftest import PlanMaker
from tests.gateway.served import served_gateway
from tests.mcp.fixture_agent import fixture_agent
from tests.mcp.league import league
from tests.mcp.node_tools import NodeTools
from tests.mcp.programs import Ended, run

BASELINES = Path(__file__).with_name("baselines")
REQUIRED = {"2026-07-28": 37, "2025-11-25": 30}
"""Scenarios that a revision requires of a server."""

every_revision = pytest.mark.parametrize("revision", REQUIRED)


def passed(ended: Ended) -> set[str]:
    """The required scenarios without a failure: the suite lists those that don't count once more, indented."""
    optional = set(re.findall(r"^  [✓✗] (\S+) \(", ended.out, re.MULTILINE))
    return set(re.findall(r"^✓ (\S+):", ended.out, re.MULTILINE)) - optional


@every_revision
async def test_the_fixture_agent_passes_all_that_a_revision_requires_of_a_server(
    node_tools: NodeTools, tmp_path: Path, revision: str
) -> None:
    async with fixture_agent(tmp_path) as url:
        ended = await run(node_tools.conformance("server", "--url", url, "--requirements", revision))
    assert ended.code == 0, ended.out
    assert len(passed(ended)) == REQUIRED[revision], ended.out


@every_revision
@pytest.mark.parametrize("role", Role)
async def test_an_agent_fails_what_its_baseline_says_and_nothing_else(
    node_tools: NodeTools, plan: PlanMaker, role: Role, revision: str
) -> None:
    baseline = BASELINES / f"agents-{revision}.yml"
    options = ("--suite", "all", "--spec-version", revision, "--expected-failures", baseline)
    async with league(plan) as there:
        ended = await run(node_tools.conformance("server", "--url", there.urls[role], *options))
    assert ended.code == 0, ended.out[ended.out.find("=== SUMMARY") :] + ended.err


@every_revision
async def test_the_gateway_fails_what_agents_do_and_nothing_else(
    node_tools: NodeTools, home: Path, revision: str
) -> None:
    baseline = BASELINES / f"agents-{revision}.yml"
    options = ("--suite", "all", "--spec-version", revision, "--expected-failures", baseline)
    async with served_gateway(home) as url:
        ended = await run(node_tools.conformance("server", "--url", url, *options))
    assert ended.code == 0, ended.out[ended.out.find("=== SUMMARY") :] + ended.err
