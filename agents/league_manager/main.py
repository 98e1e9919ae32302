"""Start the league manager: the same as ``league manager`` with the same arguments."""

import os
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LEAGUE = str(HERE.parents[1] / "league")
GAMES = HERE.parent / "referee" / "game_logic.py"
if GAMES.is_file():
    os.environ.setdefault("AGENT_LEAGUE_GAMES", str(GAMES))  # the game that its referee knows, for --game and the pages
sys.argv = [LEAGUE, "manager", *sys.argv[1:]]
runpy.run_path(LEAGUE, run_name="__main__")
