"""Engines: where pieces are played. An engine knows nothing of files, folders and reports."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

from agent_league.lab.experiment.pieces import Piece, PieceResult
from agent_league.lab.workers import QUEUED_PER_PROCESS, run_all


class Engine(Protocol):
    """Plays pieces. Takes them one by one, as it has room: what comes next may depend on how long others took."""

    def run(self, pieces: Iterable[Piece]) -> Iterator[PieceResult]:
        """Yield the results in any order, each once; closing the iterator cancels what is under way."""
        ...


@dataclass(frozen=True, slots=True)
class ProcessEngine:
    """Processes of this machine; with one job, this process itself."""

    jobs: int = 1
    queued: int = QUEUED_PER_PROCESS
    """Pieces under way for each process: 1 if they cost money, so that not much is spent beyond a budget."""

    def run(self, pieces: Iterable[Piece]) -> Generator[PieceResult]:
        work = (_PieceItem(piece) for piece in pieces)
        with closing(run_all(work, self.jobs, preload=(__name__,), queued=self.queued, max_bundle=1)) as results:
            yield from results


@dataclass(frozen=True, slots=True)
class _PieceItem:
    """A piece as a work item of `run_all`."""

    piece: Piece

    def __str__(self) -> str:
        return str(self.piece)

    def run(self) -> Iterator[PieceResult]:
        yield self.piece.run()
