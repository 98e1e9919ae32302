"""Work in several processes: short items go together, none is lost, and long ones go alone."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from agent_league.lab.workers import run_all


@dataclass(frozen=True)
class Item:
    """Says its number, the process that ran it, and how many that process had run before."""

    number: int
    seconds: float = 0.0

    def run(self) -> Iterator[tuple[int, int]]:
        time.sleep(self.seconds)
        yield self.number, os.getpid()


def test_each_item_is_run_once_in_other_processes() -> None:
    results = list(run_all(map(Item, range(500)), jobs=2, preload=(__name__,)))
    assert sorted(number for number, _ in results) == list(range(500))
    assert os.getpid() not in {process for _, process in results}


def test_items_that_wait_are_not_bundled() -> None:
    taken: list[int] = []

    def list_items() -> Iterator[Item]:
        for number in range(24):
            taken.append(number)
            yield Item(number, 0.6)

    results = run_all(list_items(), jobs=2, preload=(__name__,), queued=1)
    for _ in range(6):
        next(results)
    results.close()
    assert len(taken) <= 9, "two are under way, whatever they cost in processor time"
