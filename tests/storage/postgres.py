"""A private PostgreSQL server for tests: its own folder, port and password, gone when the tests are."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import SystemRandom

from tests.conftest import BOUND

MISSING = "needs a PostgreSQL server: apt-get install postgresql"
START_SECONDS = BOUND
LONGEST_SOCKET_FOLDER = 80
"""Characters; the system allows 107 for a socket's whole path."""


def programs() -> Path | None:
    """The folder of `initdb` and `postgres`; Debian keeps them off the PATH."""
    on_path = shutil.which("initdb")
    places = [Path(on_path).resolve().parent] if on_path else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((place for place in reversed(places) if (place / "initdb").exists()), None)


class PostgresServer:
    """A server that can be stopped and started again on the same port and data."""

    def __init__(self, bin_folder: Path, folder: Path, *, is_durable: bool = False) -> None:
        """Without `is_durable` it doesn't wait for the disk."""
        self._fsync = "on" if is_durable else "off"
        self._bin = bin_folder
        self._folder = folder
        self._data = folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._user = _unprivileged()
        self.port = _free_port()
        self.password = secrets.token_hex(8)

    def address(self, database: str = "postgres", password: str | None = None) -> str:
        return f"postgresql+psycopg://league:{password or self.password}@127.0.0.1:{self.port}/{database}"

    def socket_address(self) -> str:
        """Its address by a socket in the file system, which is there in every network namespace."""
        return f"postgresql+psycopg://league:{self.password}@/postgres?host={self._folder}&port={self.port}"

    def make(self) -> None:
        password_file = self._folder / "password"
        password_file.write_text(self.password)
        if self._user:
            for path in (self._folder, password_file):
                shutil.chown(path, self._user)
        options = ["--username=league", "--auth=scram-sha-256", f"--pwfile={password_file}", "--no-sync"]
        self._run("initdb", "--pgdata", str(self._data), "--encoding=UTF8", "--locale=C", *options)

    def start(self) -> None:
        settings = {
            "fsync": self._fsync,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self._folder if len(str(self._folder)) < LONGEST_SOCKET_FOLDER else "",
            "port": self.port,
        }
        options = [f"-c{name}={value}" for name, value in settings.items()]
        command = [str(self._bin / "postgres"), "-D", str(self._data), *options]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, user=self._user, stdout=log, stderr=log, cwd="/")
        deadline = time.monotonic() + START_SECONDS
        while self._status() != 0:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start: {(self._folder / 'log').read_text()}")
            time.sleep(0.05)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def stop(self) -> None:
        """Ends it and everybody's connections."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(START_SECONDS)
            self._process = None

    def _status(self) -> int:
        command = [str(self._bin / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(command, check=False).returncode

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._bin / program), *arguments]
        done = subprocess.run(command, user=self._user, cwd="/", capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr}")


@contextmanager
def postgres_server(bin_folder: Path, *, is_durable: bool = False) -> Iterator[PostgresServer]:
    folder = Path(tempfile.mkdtemp(prefix="agent-league-postgres-"))
    server = PostgresServer(bin_folder, folder, is_durable=is_durable)
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


def _unprivileged() -> str | None:
    """Whom to be instead of root, whom PostgreSQL refuses to serve."""
    if os.geteuid() != 0:
        return None
    import pwd

    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


def _free_port() -> int:
    """One below those that the system gives to callers, so that nobody gets it while the server is stopped."""
    for port in SystemRandom().sample(range(12000, 32000), 100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise RuntimeError("no free port")
