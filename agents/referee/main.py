"""Start one referee: the same as ``league referee`` with the same arguments; game_logic.py has its rules."""

import os
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LEAGUE = str(HERE.parents[1] / "league")
GAMES = HERE / "game_logic.py"
if GAMES.is_file():
    os.environ.setdefault("AGENT_LEAGUE_GAMES", str(GAMES))
sys.argv = [LEAGUE, "referee", *sys.argv[1:]]
runpy.run_path(LEAGUE, run_name="__main__")
