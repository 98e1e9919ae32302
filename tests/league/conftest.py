"""Offices for tests: managers that run until the test is over."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.league.office import Office, open_office, within

OfficeMaker = Callable[..., Office]


@pytest.fixture
async def office(home: Path) -> AsyncIterator[OfficeMaker]:
    """Makes running managers: `office({"participants.max_players": 2}, players=2, referees=1)`."""
    opened: list[tuple[Office, asyncio.Task[None]]] = []

    def make(overrides: dict[str, Any] | None = None, **parts: Any) -> Office:
        made = open_office(home, overrides, **parts)
        opened.append((made, asyncio.create_task(made.manager.run())))
        return made

    yield make
    for made, run in opened:
        for referee in made.referees:
            await referee.close()
        run.cancel()
        (ending,) = await within(asyncio.gather(run, return_exceptions=True))
        was_replaced = made.manager._journal.save_failure.done()
        assert was_replaced or isinstance(ending, asyncio.CancelledError), f"the manager ended by itself: {ending!r}"
