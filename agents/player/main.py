"""Start one player: the same as ``league player`` with the same arguments, and strategy.py here says how it plays."""

import os
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LEAGUE = str(HERE.parents[1] / "league")
STRATEGY, GAMES = HERE / "strategy.py", HERE.parent / "referee" / "game_logic.py"
if GAMES.is_file():
    os.environ.setdefault("AGENT_LEAGUE_GAMES", str(GAMES))  # the rules by which it checks its results
own = ["--strategy", str(STRATEGY)] if STRATEGY.is_file() else []
sys.argv = [LEAGUE, "player", *own, *sys.argv[1:]]
runpy.run_path(LEAGUE, run_name="__main__")
