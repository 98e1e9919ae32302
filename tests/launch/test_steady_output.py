"""Output that is written by a thread of its own: what comes next on the same terminal can wait for it."""

import os
import sys
import threading

import pytest

from agent_league.launch.steady_output import NonBlockingStream, drain_stdout

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="its console is no descriptor to write to")


def test_what_follows_a_drained_stdout_comes_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "x" * 200_000  # more than a pipe holds
    receiving, sending = os.pipe()
    received: list[bytes] = []

    def receive() -> None:
        with os.fdopen(receiving, "rb") as file:
            received.append(file.read())

    reader = threading.Thread(target=receive)
    with os.fdopen(sending, "w") as original:
        monkeypatch.setattr(sys, "stdout", NonBlockingStream(original))
        sys.stdout.write(text)
        reader.start()
        drain_stdout()
        os.write(sending, b"next")
        monkeypatch.undo()
    reader.join()
    assert received == [text.encode() + b"next"]
