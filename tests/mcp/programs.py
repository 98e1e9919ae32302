"""Programs of others, run beside the servers of the test's own event loop."""

import asyncio
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.conftest import BOUND


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended, and what it said."""

    code: int
    out: str
    err: str


async def run(command: Sequence[str], env: Mapping[str, str] | None = None) -> Ended:
    """Runs it to its end."""
    process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=env)
    try:
        async with asyncio.timeout(BOUND):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Ended(process.returncode or 0, out.decode(), err.decode())
