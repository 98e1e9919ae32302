"""An agent that a check starts itself, and stops again whatever happens, with every process that it has started.

Knows a command and an environment, not what the agent is.
"""

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from urllib.parse import urlsplit

from agent_league.errors import UserError
from agent_league.http.sign_up_address import SIGN_UP_VARIABLE

END_SECONDS = 5
POLL_SECONDS = 0.1
OTHER_PORT_SECONDS = 2.0
"""After so long that an agent listens, but elsewhere, it isn't waited for any more."""
LISTENING_STATE = "0A"
MAX_SHOWN_BYTES = 2000


class StartedAgent:
    """A running command, the leader of a group of processes of its own."""

    def __init__(self, command: str, manager_port: int) -> None:
        """Start a command, without a shell; raises UserError. `python` in it is the one that runs us."""
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise UserError(f"--start {command!r}: {error}") from None
        if not words:
            raise UserError('--start: expected a command, such as --start "python player.py"')
        self._command = command
        self._output = TemporaryFile("a+b")  # noqa: SIM115 - closed by `stop`; appended to, as we read it meanwhile
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own command
                words,
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                env=_make_environment(manager_port),
                start_new_session=True,
            )
        except OSError as error:
            self._output.close()
            hint = f'; expected --start "python {command}"' if words[0].endswith(".py") else ""
            raise UserError(f"--start {command!r}: {words[0]} can't be started: {error.strerror}{hint}") from None

    def describe_end(self) -> str:
        """Say how the command has ended, with the last that it printed; empty if it still runs."""
        code = self._process.poll()
        if code is None:
            return ""
        said = self._read_output()
        return f"`{self._command}` has ended with exit code {code}" + (f":\n{said}" if said else ".")

    def describe_output(self) -> str:
        """Say the last that the command printed, and how it has ended if it has; empty if it runs and is silent."""
        if ended := self.describe_end():
            return ended
        said = self._read_output()
        return f"`{self._command}` printed:\n{said}" if said else ""

    def wait_until_listening(self, url: str, seconds: float, *, is_named: bool) -> str:
        """Wait until somebody listens at the agent's address, and return it; raises UserError if nobody does.

        If the agent listens at one other port instead, that is its address, unless the user has named one.
        """
        deadline, noticed = time.monotonic() + seconds, None
        while time.monotonic() < deadline:
            if is_listening(url):
                return url
            if ended := self.describe_end():
                raise UserError(f"--start: nobody listens at {url}, and {ended}")
            if ports := find_listening_ports(self._process.pid):
                noticed = noticed or time.monotonic()
                if time.monotonic() - noticed > OTHER_PORT_SECONDS:
                    return self._take_other_port(url, ports, is_named=is_named)
            time.sleep(POLL_SECONDS)
        said = self.describe_output() or f"`{self._command}` printed nothing"
        raise UserError(f"--start: nobody listens at {url} after {seconds:g} s. {said}")

    def _take_other_port(self, url: str, ports: Sequence[int], *, is_named: bool) -> str:
        """Return the address at the only other port that the agent listens at; raises UserError if it isn't clear."""
        found = [f"http://localhost:{port}/mcp" for port in ports]
        if is_named or len(found) > 1:
            raise UserError(
                f"--start: nobody listens at {url}, but `{self._command}` does at {' and '.join(found)}; name that "
                f"address: `league check {found[0]} --start ...`"
            )
        return found[0]

    def stop(self) -> None:
        """End the command and all that it started: politely, and after END_SECONDS by force."""
        self._signal_group(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        self._signal_group(getattr(signal, "SIGKILL", signal.SIGTERM))
        self._process.wait()
        self._output.close()

    def _read_output(self) -> str:
        self._output.seek(0, os.SEEK_END)
        self._output.seek(max(0, self._output.tell() - MAX_SHOWN_BYTES))
        return self._output.read().decode(errors="replace").strip()

    def _signal_group(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):  # all of them have ended
            if sys.platform == "win32":
                self._process.terminate()
            else:
                os.killpg(self._process.pid, number)


def is_listening(url: str) -> bool:
    """Whether somebody listens at an address."""
    parts = urlsplit(url if "//" in url else f"//{url}")
    with suppress(OSError), socket.create_connection((parts.hostname or "localhost", parts.port or 80), timeout=1):
        return True
    return False


def find_listening_ports(group: int) -> list[int]:
    """Find the TCP ports at which processes of a group listen; none where the system has no /proc."""
    sockets = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            if os.getpgid(int(folder.name)) == group:
                sockets |= {str(one.readlink()) for one in (folder / "fd").iterdir()}
    ports = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for row in table.read_text().splitlines()[1:] if sockets and table.exists() else ():
            _, address, _, state, *rest = row.split()
            if state == LISTENING_STATE and f"socket:[{rest[5]}]" in sockets:
                ports.add(int(address.rpartition(":")[2], 16))
    return sorted(ports)


@contextmanager
def start_agent(command: str, manager_port: int) -> Iterator[StartedAgent]:
    """Start an agent's command inside this context, told by its environment where its manager is."""
    agent = StartedAgent(command, manager_port)
    try:
        yield agent
    finally:
        agent.stop()


def _make_environment(manager_port: int) -> dict[str, str]:
    programs = os.pathsep.join(filter(None, (str(Path(sys.executable).parent), os.environ.get("PATH"))))
    return {**os.environ, "PATH": programs, SIGN_UP_VARIABLE: f"http://localhost:{manager_port}/mcp"}
