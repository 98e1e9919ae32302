"""Every demand has a test that shows it."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.requirements import REQUIREMENTS, Requirement

TESTS = Path(__file__).parent


@cache
def names_in(file: Path) -> frozenset[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(function.name for function in functions)


def find_problems(requirement: Requirement) -> Iterator[str]:
    if not requirement.shown_by:
        yield f"{requirement.demand}: nothing shows it"
    for name in requirement.shown_by:
        place, _, test = name.partition("::")
        folder, _, noun = place.rpartition("/")
        file = TESTS / folder / f"test_{noun}.py"
        if not file.is_file():
            yield f"{requirement.demand}: no file {file.name}"
        elif f"test_{test}" not in names_in(file):
            yield f"{requirement.demand}: no test {test} in {file.name}"


def test_a_demand_is_shown_by_tests_that_exist() -> None:
    assert len(REQUIREMENTS) > 200
    problems = [problem for requirement in REQUIREMENTS for problem in find_problems(requirement)]
    assert not problems


def test_no_demand_is_listed_twice() -> None:
    listed = [(requirement.source, requirement.demand) for requirement in REQUIREMENTS]
    assert len(listed) == len(set(listed))
