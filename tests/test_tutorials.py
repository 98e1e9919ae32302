"""Every tutorial works as it stands: its files are written, its commands run in order, in a network of its own."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.page_script import ROOT, has_network, run_page

FOLDER = ROOT / "docs" / "tutorials"
MODEL_SERVER = ROOT / "tests" / "llm" / "ollama.py"

pytestmark = pytest.mark.skipif(not has_network(), reason="needs a network of its own (unshare) for ports from 8000 on")


def test_the_first_agent_in_python_in_javascript_and_with_curl(tmp_path: Path) -> None:
    if missing := [one for one in ("node", "curl", "jq") if not shutil.which(one)]:
        pytest.skip(f"needs {', '.join(missing)}")
    said = run_page(FOLDER / "first-agent.md", tmp_path)
    assert "player.py is better than random" in said
    assert "The player at http://localhost:8101/mcp passes." in said
    assert "ACCEPTED as P0" in said
    assert said.count("Champion") >= 2
    assert (tmp_path / "curl_player.sh").read_bytes() == (ROOT / "examples" / "curl_player.sh").read_bytes()
    assert (tmp_path / "player.py").read_bytes() == (ROOT / "examples" / "tic_tac_toe_player.py").read_bytes()


def test_a_league_for_a_class(tmp_path: Path) -> None:
    said = run_page(FOLDER / "class.md", tmp_path)
    assert "Champion" in said
    grades = (tmp_path / "grades.csv").read_text(encoding="utf-8")
    assert all(name in grades for name in ("Ada", "Ben", "Cyn", "Dan", "Eve"))


def test_agents_are_compared(tmp_path: Path) -> None:
    said = run_page(FOLDER / "compare.md", tmp_path)
    assert "markov is better than stubborn.py" in said
    assert "It is open whether markov is better than random" in said
    assert (tmp_path / "habits" / "report.html").is_file()


def test_a_game_of_one_s_own(tmp_path: Path) -> None:
    said = run_page(FOLDER / "game.md", tmp_path)
    assert "minimax is significantly better" in said
    assert "Champion" in said
    rules = (ROOT / "examples" / "race_to_21" / "race_to_21.py").read_text(encoding="utf-8")
    assert (tmp_path / "race_to_21.py").read_text(encoding="utf-8").startswith(rules)


def test_a_language_model_plays(tmp_path: Path) -> None:
    said = run_page(FOLDER / "model.md", tmp_path, {"league manager": f"{sys.executable} {MODEL_SERVER} &"})
    assert "Champion" in said
    files = (tmp_path / "SHARED" / "data").rglob("R1M1.json")
    assert "It is the first that I may play." in next(files).read_text(encoding="utf-8")
