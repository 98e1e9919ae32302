"""The engine that plays pieces on a Ray cluster: as tasks, a bounded number at once, again if their worker is lost.

A piece gives the same rows wherever it is played, so a lost one is played again without harm. What a worker must have
of its own is agent-league in this version, with the same games and strategies; files of the experiment are sent to it.
"""

import pickle
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from agent_league.errors import LeagueFailed, UserError
from agent_league.lab.experiment.contestants import PlayerSpec
from agent_league.lab.experiment.pieces import Piece, PieceResult
from agent_league.lab.experiment.ray_cluster import Remark, open_ray
from agent_league.lab.experiment.ray_worker import Answer
from agent_league.lab.experiment.sent_files import collect_files
from agent_league.text import MAX_PHRASE, shorten
from agent_league.version import __version__

QUEUED_PER_CPU = 4
"""Pieces that wait for each CPU of the cluster, so that none is idle between two."""
MIN_QUEUED = 16
"""Pieces under way on however small a cluster: one that grows with its work has to see some."""
MAX_LOSSES = 8
"""How often a piece is played again because its worker or node was lost; one that kills its workers ends the run."""
RESOURCES_SECONDS = 5
QUIET_SECONDS = 30
"""After so long without a result a remark says so if the cluster has no CPU."""


@dataclass(frozen=True, slots=True)
class RayEngine:
    """A Ray cluster; without an address see `open_ray`."""

    address: str | None = None
    players: Sequence[PlayerSpec] = ()
    """Those of the experiment: the folders of their files are sent to the workers."""
    remark: Remark = lambda _: None
    """Called with sentences for the person who waits."""
    is_eager: bool = True
    """Whether more pieces are under way than CPUs are there; not where those that are cancelled have cost money."""

    def run(self, pieces: Iterable[Piece]) -> Generator[PieceResult]:
        """Play the pieces; raises UserError if a worker can't play them, LeagueFailed if one is always lost."""
        with (
            collect_files(self.players) as files,
            open_ray(self.address, files.to_runtime_env(), self.remark) as ray,
        ):
            tasks = _Tasks(ray, self, has_files=files.folder is not None)
            try:
                for piece in pieces:
                    tasks.submit(piece)
                    while tasks.is_full:
                        yield from tasks.take_results()
                while tasks.under_way:
                    yield from tasks.take_results()
            finally:
                tasks.cancel_all()


class _Tasks:
    """The tasks of a run that are under way."""

    def __init__(self, ray: Any, engine: RayEngine, *, has_files: bool) -> None:
        self._ray = ray
        self._engine = engine
        self._has_files = has_files
        self._task = ray.remote(num_cpus=1, max_retries=MAX_LOSSES)(make_piece_task())
        self.under_way: dict[Any, str] = {}
        """By task, which piece it plays, for a person."""
        self._most = 1
        self._counted_at = float("-inf")
        self._has_complained = False

    @property
    def is_full(self) -> bool:
        """Whether as many pieces are under way as the cluster, which may grow and shrink, has use for."""
        now = time.monotonic()
        if now - self._counted_at > RESOURCES_SECONDS:
            cpus = int(self._count_cpus())
            self._most = max(MIN_QUEUED, cpus * QUEUED_PER_CPU) if self._engine.is_eager else max(1, cpus)
            self._counted_at = now
        return len(self.under_way) >= self._most

    def submit(self, piece: Piece) -> None:
        self.under_way[self._task.remote(pickle.dumps(piece), __version__, self._has_files)] = str(piece)

    def take_results(self) -> Generator[PieceResult]:
        """Wait for a task, and yield the results of all that are done."""
        waiting = list(self.under_way)
        done, _ = self._ray.wait(waiting, timeout=QUIET_SECONDS)
        if not done:
            self._complain_of_idleness()
            return
        if len(waiting) > 1:  # others may be done as well
            done, _ = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)
        for ref in done:
            yield self._get_result(ref, self.under_way.pop(ref))

    def cancel_all(self) -> None:
        """End the tasks that are under way, at once."""
        for ref in self.under_way:
            self._ray.cancel(ref, force=True)
        self.under_way.clear()

    def _get_result(self, ref: Any, piece: str) -> PieceResult:
        try:
            answer: Answer = self._ray.get(ref)
        except self._ray.exceptions.RayError as error:
            said = shorten(str(error).partition("\n")[0], MAX_PHRASE).rstrip(".")
            raise LeagueFailed(
                f"Ray could not play {piece}, in {MAX_LOSSES + 1} attempts if its workers were lost: {said}."
                " What was finished is kept; the same command goes on"
            ) from None
        kind, content = answer
        if kind == "played":
            result: PieceResult = pickle.loads(content)  # noqa: S301 - our own task made it
            return result
        raise UserError(content) if kind == "refused" else LeagueFailed(content)

    def _count_cpus(self) -> float:
        return float(self._ray.cluster_resources().get("CPU", 0))

    def _complain_of_idleness(self) -> None:
        if not self._has_complained and not self._count_cpus():
            self._engine.remark("No node of the Ray cluster has a CPU yet; waiting for one.")
            self._has_complained = True


def make_piece_task() -> Callable[[bytes, str, bool], Answer]:
    """Make the function that is sent to the workers as it stands, since a worker may have another version, or none."""

    def play_piece(packed: bytes, version: str, has_files: bool) -> Answer:
        import socket  # noqa: PLC0415 - a function that travels brings its imports

        here = f"The Ray worker at {socket.gethostname()}"
        try:
            from agent_league.lab.experiment.ray_worker import play_packed_piece  # noqa: PLC0415 - as above
            from agent_league.version import __version__ as own  # noqa: PLC0415 - as above
        except ImportError as error:
            return "refused", f"{here} has no agent-league {version} ({error}): install it on every node of the cluster"
        if own != version:
            return "refused", f"{here} has agent-league {own}, this is {version}: install the same on every node"
        return play_packed_piece(packed, here, has_files=has_files)

    return play_piece
