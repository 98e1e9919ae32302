"""Start one referee: the same as ``league referee`` with the same arguments, from a clean clone too."""

import runpy
import sys
from pathlib import Path

LEAGUE = str(Path(__file__).resolve().parent / "league")
sys.argv = [LEAGUE, "referee", *sys.argv[1:]]
runpy.run_path(LEAGUE, run_name="__main__")
