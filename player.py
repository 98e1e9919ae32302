"""Start one player: the same as ``league player`` with the same arguments, from a clean clone too."""

import runpy
import sys
from pathlib import Path

LEAGUE = str(Path(__file__).resolve().parent / "league")
sys.argv = [LEAGUE, "player", *sys.argv[1:]]
runpy.run_path(LEAGUE, run_name="__main__")
