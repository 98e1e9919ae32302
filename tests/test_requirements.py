"""Every demand has a test that shows it."""

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.requirements import REQUIREMENTS, Requirement

TESTS = Path(__file__).parent


@cache
def names_in(file: Path) -> frozenset[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(function.name for function in functions)


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda requirement: requirement.demand)
def test_a_demand_is_shown_by_tests_that_exist(requirement: Requirement) -> None:
    assert requirement.shown_by, f"nothing shows: {requirement.demand}"
    for name in requirement.shown_by:
        place, _, test = name.partition("::")
        folder, _, noun = place.rpartition("/")
        file = TESTS / folder / f"test_{noun}.py"
        assert file.is_file(), f"{requirement.demand}: no file {file.name}"
        assert f"test_{test}" in names_in(file), f"{requirement.demand}: no test {test} in {file.name}"


def test_no_demand_is_listed_twice() -> None:
    listed = [(requirement.source, requirement.demand) for requirement in REQUIREMENTS]
    assert len(listed) == len(set(listed))
