"""No module imports itself by a detour, wherever in the module the import stands."""

from graphlib import CycleError, TopologicalSorter

import grimp
import pytest


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
