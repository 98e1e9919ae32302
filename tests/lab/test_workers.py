"""Work in several processes: short items go together, none is lost, and long ones go alone."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_league.errors import LeagueFailed
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


@dataclass(frozen=True)
class DeadlyItem:
    """Ends its process, as long as there is no file at `mark`: then it is there, unless the item kills for ever."""

    number: int
    mark: Path | None = None
    kills_always: bool = False

    def __str__(self) -> str:
        return f"item {self.number}"

    def run(self) -> Iterator[int]:
        if self.kills_always or (self.mark and not self.mark.exists()):
            if self.mark:
                self.mark.touch()
            os._exit(3)
        yield self.number


def test_what_a_lost_process_had_is_run_again_alone(tmp_path: Path) -> None:
    items = [DeadlyItem(number, tmp_path / f"{number}" if number in (7, 30) else None) for number in range(60)]
    assert sorted(run_all(items, jobs=2, preload=(__name__,), max_bundle=4)) == list(range(60))


def test_an_item_that_always_ends_its_process_is_named() -> None:
    items = [DeadlyItem(number, kills_always=number == 5) for number in range(20)]
    with pytest.raises(LeagueFailed, match="ended with item 5, also if it had nothing else: a player"):
        list(run_all(items, jobs=2, preload=(__name__,)))


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
