"""The notebook of the documentation: a valid one, and its cells do what they say."""

import ast
import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "experiments.ipynb"


def read_cells() -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return cells


def test_it_has_the_form_of_nbformat_4_5() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert set(notebook) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one) for one in ids)
    for cell in notebook["cells"]:
        only_code = {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        assert set(cell) == {"cell_type", "id", "metadata", "source"} | only_code
        assert all(isinstance(line, str) for line in cell["source"])
        assert cell.get("outputs", []) == [], "kept without outputs, which differ from run to run"


def test_its_cells_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    shown: dict[str, Any] = {}
    for cell in read_cells():
        if cell["cell_type"] == "code":
            shown[cell["id"]] = run_cell("".join(cell["source"]), names)
    assert "middle.py" in shown["run"]._repr_markdown_()
    assert re.search(r"^tic_tac_toe \{.*'first': \d+", shown["count"], re.MULTILINE)
    assert re.search(r"^small nim: \S+ leads with ", shown["ratings"], re.MULTILINE)
    assert {"report.html", "report.md"} <= set(shown["write-report"])
    assert shown["again"] is True


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does; return the value of its last expression, or what it printed."""
    tree = ast.parse(source)
    last = tree.body[-1]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if isinstance(last, ast.Expr):
            exec(compile(ast.Module(tree.body[:-1], []), "cell", "exec"), names)
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        else:
            exec(compile(tree, "cell", "exec"), names)
            value = None
    return printed.getvalue() if value is None else value
