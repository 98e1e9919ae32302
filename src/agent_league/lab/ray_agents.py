"""What hosts agents of a league on a node of a Ray cluster. It knows nothing of Ray."""

import asyncio
import pickle
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from agent_league.config.home import make_home
from agent_league.errors import UserError
from agent_league.launch.agent_plan import AgentPlan, PlayerPlan, RefereePlan
from agent_league.launch.serving import run_async, serve_agents
from agent_league.storage.match_segments import list_match_paths, read_match_bytes
from agent_league.text import MAX_PHRASE, quote

End = tuple[Literal["ended", "refused", "failed"], str]
"""How agents ended, with a sentence if they should not have."""
Files = list[tuple[str, bytes]]
"""Paths inside a SHARED folder, with what is in the files."""


class HostedAgents:
    """Referees and players of this node, which listen at its address and keep their files here."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._has_ended = threading.Event()
        self._folder = TemporaryDirectory(prefix="league-agents-")
        self._home: Path | None = None
        self._taken: set[Path] = set()

    def serve(self, packed: bytes) -> End:
        """Serve pickled plans of agents until `stop` is called in another thread, or one fails."""
        try:
            self._home = home = Path(self._folder.name, "SHARED")
            make_home(home)
            seats = [self._move_in(seat, home) for seat in pickle.loads(packed)]  # noqa: S301 - from our command
            run_async(self._serve(seats))
        except UserError as error:
            return "refused", f"On the node at {self._address}: {error}"
        except Exception as error:  # noqa: BLE001 - told where the command is
            return "failed", f"On the node at {self._address}: {quote(repr(error), MAX_PHRASE)}"
        finally:
            self._has_ended.set()
        return "ended", ""

    def stop(self, seconds: float) -> Files:
        """End all agents and wait for it, so long at most; return the files that nobody has taken, and the logs."""
        if self._loop is not None:
            with suppress(RuntimeError):  # it is closed already
                self._loop.call_soon_threadsafe(self._stop.set)
            self._has_ended.wait(seconds)
        logs = sorted(self._home.glob("logs/agents/*.jsonl")) if self._home else []
        files = self.take_files() + self._read_files(logs)
        self._folder.cleanup()
        return files

    def take_files(self) -> Files:
        """Return the match files that are finished and that nobody has taken."""
        return self._read_files(list_match_paths(self._home / "data" / "matches") if self._home else [])

    def _read_files(self, paths: Sequence[Path]) -> Files:
        new = [path for path in paths if path not in self._taken]
        self._taken.update(new)
        return [(str(path.relative_to(self._home or "")), read_match_bytes(path)) for path in new]

    async def _serve(self, seats: Sequence[AgentPlan]) -> None:
        self._loop = asyncio.get_running_loop()
        await serve_agents(seats, self._stop)

    def _move_in(self, seat: AgentPlan, home: Path) -> AgentPlan:
        """Give an agent its address and its folder here."""
        host = f"[{self._address}]" if ":" in self._address else self._address
        endpoint = f"http://{host}:{seat.port}/mcp"
        if isinstance(seat, RefereePlan):
            return replace(seat, settings=replace(seat.settings, home=home, endpoint=endpoint), host=self._address)
        if isinstance(seat, PlayerPlan):
            return replace(seat, settings=replace(seat.settings, home=home, endpoint=endpoint), host=self._address)
        raise TypeError("a manager stays where the command is")
