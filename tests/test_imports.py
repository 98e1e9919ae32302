"""No module imports itself by a detour, and those who needn't know a protocol's version don't name one."""

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

import agent_league

VERSION = re.compile(r"league\.v\d|\bv1\b|[a-z_]v1_|_v1\b|V1\b|PROTOCOL_V\d")
"""A name of a protocol's version, other than the package with the messages of our own."""


def find_import_cycle(imports: dict[str, set[str]]) -> list[str]:
    """The modules of one cycle, the first of them also at the end; none if there is no cycle."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_by_a_detour() -> None:
    graph = grimp.build_graph("agent_league", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert find_import_cycle(imports) == []


@pytest.mark.parametrize("detour", [{"a": {"b"}, "b": {"a"}}, {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}])
def test_a_cycle_is_found(detour: dict[str, set[str]]) -> None:
    found = find_import_cycle(detour)
    assert found[0] == found[-1]
    assert set(found) == detour.keys() - {"d"}


@pytest.mark.parametrize("package", ["league", "referee", "players"])
def test_manager_referee_and_player_name_no_version_of_the_protocol(package: str) -> None:
    sources = sorted((Path(agent_league.__file__).parent / package).rglob("*.py"))
    named = {(path.name, found[0]) for path in sources for found in VERSION.finditer(path.read_text())}
    assert sources
    assert named == set()
