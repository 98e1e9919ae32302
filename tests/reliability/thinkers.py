"""Players of a fixed strategy that take their time, so that there is something to kill.

They come in by the entry point of strategies, as anybody's would: `installed` makes a folder for PYTHONPATH.
"""

import asyncio
import os
from pathlib import Path

from agent_league.players.observation import Move, Observation
from agent_league.players.strategies import STRATEGY_ENTRY_POINTS

SECONDS = "THINKING_SECONDS"
EVEN, ODD = "thinking_even", "thinking_odd"
ROOT = Path(__file__).resolve().parents[2]


class ThinkingEven:
    """Plays "even" after a while."""

    async def choose(self, observation: Observation) -> Move:
        await asyncio.sleep(float(os.environ[SECONDS]))
        return "even"


class ThinkingOdd:
    """Plays "odd" after a while."""

    async def choose(self, observation: Observation) -> Move:
        await asyncio.sleep(float(os.environ[SECONDS]))
        return "odd"


def installed(folder: Path, seconds: float) -> dict[str, str]:
    """The environment in which `league` knows these strategies."""
    package = folder / "thinkers-1.dist-info"
    package.mkdir(parents=True, exist_ok=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: thinkers\nVersion: 1\n", encoding="utf-8")
    points = {EVEN: ThinkingEven, ODD: ThinkingOdd}
    lines = [f"{name} = {kind.__module__}:{kind.__name__}" for name, kind in points.items()]
    (package / "entry_points.txt").write_text("\n".join([f"[{STRATEGY_ENTRY_POINTS}]", *lines, ""]), encoding="utf-8")
    searched = filter(None, (str(folder), str(ROOT), os.environ.get("PYTHONPATH")))
    return {"PYTHONPATH": os.pathsep.join(searched), SECONDS: str(seconds)}
