"""Who holds a port, in words that lead to the program to stop."""

import multiprocessing
import os
import socket
import sys
from multiprocessing.connection import Connection

import pytest

from agent_league.http.port_holder import describe_port_holder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone can tell who holds a port")


def _listen(line: "Connection[int, None]") -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        line.send(held.getsockname()[1])
        line.recv()


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_port_of_a_child_is_held_by_the_program_that_a_person_started(method: str) -> None:
    context = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    child = context.Process(target=_listen, args=(theirs,))  # type: ignore[attr-defined]
    child.start()
    try:
        assert describe_port_holder(ours.recv()).startswith(f"process {os.getpid()} (")
    finally:
        ours.send(None)
        child.join()
