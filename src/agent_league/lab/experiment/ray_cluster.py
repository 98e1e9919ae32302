"""Connections to Ray clusters: found, checked and closed in one place, the only one that knows the name of Ray.

Ray is imported when it is used. It knows no pieces and no leagues.
"""

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agent_league.errors import UserError
from agent_league.text import MAX_PHRASE, quote

INSTALL_HINT = "pip install 'agent-league[ray]' (in a checkout: .venv/bin/pip install -e '.[ray]')"
ADDRESS_FORM = "HOST:PORT, such as 10.0.0.5:6379, or ray://HOST:PORT"
ADDRESS_VARIABLE = "RAY_ADDRESS"
CONNECT_SECONDS = 5
LOCAL_STORE_BYTES = 128 * 1024**2
"""Memory for results on the way where Ray is started here; rows are small."""
QUIET_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is sent to Ray's makers
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # else what happens to nodes is printed among our tables
}
"""Environment variables that Ray reads when it is imported; those that are set already stay."""

TOKEN_MODE_VARIABLE = "RAY_AUTH_MODE"  # noqa: S105 - the name of a variable
TOKEN_VARIABLES = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")

Remark = Callable[[str], None]


def import_ray() -> Any:
    """Import Ray, quietly; raises UserError that says how it is installed."""
    for name, value in QUIET_SETTINGS.items():
        os.environ.setdefault(name, value)
    if _has_token():
        os.environ.setdefault(TOKEN_MODE_VARIABLE, "token")
    try:
        return import_module("ray")
    except ImportError as error:
        raise UserError(f"Ray is not installed ({error}): {INSTALL_HINT}") from None


@contextmanager
def open_ray(
    address: str | None, runtime_env: Mapping[str, Any] | None = None, remark: Remark = lambda _: None
) -> Iterator[Any]:
    """Connect to a cluster and yield Ray's module; what this process runs there ends with the block.

    Without an address it is the cluster of RAY_ADDRESS, else the one that runs on this machine, else one that is
    started here for the time being. A connection that this process has already is used, and stays. Raises UserError.
    """
    ray = import_ray()
    if ray.is_initialized():
        if runtime_env:
            raise UserError(
                "This process is connected to Ray already, and files can only be sent to the workers when it connects:"
                " call ray.shutdown() first"
            )
        yield ray
        return
    found = _find_address(address)
    _connect(ray, found, dict(runtime_env or {}))
    try:
        nodes = [node for node in ray.nodes() if node["Alive"]]
        cpus = int(ray.cluster_resources().get("CPU", 0))
        where = f"Ray at {found}" if found else "Ray, started on this machine"
        remark(f"{where}: {_count(len(nodes), 'node')}, {_count(cpus, 'CPU')}.")
        yield ray
    finally:
        ray.shutdown()


def find_own_address(ray: Any, address: str | None) -> str:
    """Return this machine's address in the cluster: Ray's own, or for a client's `ray://` that of the way there."""
    if address is None or not address.startswith("ray://"):
        return str(ray.util.get_node_ip_address())
    host, port = _split_address(address)
    family, kind, number, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind, number) as way:
        way.connect(place)  # sends nothing
        return str(way.getsockname()[0])


def _has_token() -> bool:
    """Whether the user has a token for clusters. `ray start` then asks for it, and a connection must be told so."""
    return any(name in os.environ for name in TOKEN_VARIABLES) or Path("~/.ray/auth_token").expanduser().is_file()


def _connect(ray: Any, address: str | None, runtime_env: dict[str, Any]) -> None:
    here = {} if address else {"include_dashboard": False, "object_store_memory": LOCAL_STORE_BYTES}
    with _keep_signal_handlers():
        try:
            ray.init(
                address=address or "local",
                runtime_env=runtime_env or None,
                log_to_driver=False,
                logging_level=logging.CRITICAL,
                **here,
            )
        except (Exception, SystemExit) as error:  # noqa: BLE001 - of Ray's many; it exits where a process doesn't start
            with suppress(Exception):
                ray.shutdown()
            where = f"the Ray cluster at {address}" if address else "a Ray of this machine's own"
            raise UserError(f"{where} can't be used: {quote(str(error), MAX_PHRASE)}") from None


def _find_address(given: str | None) -> str | None:
    """Find the cluster's address, at which somebody listens; None: there is none. Raises UserError."""
    if address := given or os.environ.get(ADDRESS_VARIABLE):
        if address == "local":
            return None
        named_by = "--on ray" if given else f"${ADDRESS_VARIABLE}"
        _check_address(address, named_by)
        return address
    running = _read_current_address()
    return running if running and _is_answering(*_split_address(running)) else None


def _read_current_address() -> str:
    """The address of the cluster that `ray start` has started on this machine last, running or not."""
    try:
        return Path(os.environ.get("RAY_TMPDIR", "/tmp"), "ray", "ray_current_cluster").read_text().strip()  # noqa: S108
    except OSError:
        return ""


def _check_address(address: str, named_by: str) -> None:
    """Raise UserError if nobody listens there: Ray itself would try for minutes."""
    host, port = _split_address(address)
    if not port:
        raise UserError(f"{named_by}: expected {ADDRESS_FORM}; found {quote(address)}")
    if not _is_answering(host, port):
        raise UserError(
            f"{named_by}: no Ray cluster answers at {address}. `ray start --head` starts one, and says its address"
        )


def _split_address(address: str) -> tuple[str, int]:
    """Return host and port, empty and 0 if they aren't there."""
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        return (parts.hostname or "", parts.port or 0) if parts.scheme in ("", "ray") else ("", 0)
    except ValueError:
        return "", 0


def _is_answering(host: str, port: int) -> bool:
    with suppress(OSError), socket.create_connection((host, port), CONNECT_SECONDS):
        return True
    return False


@contextmanager
def _keep_signal_handlers() -> Iterator[None]:
    """Put back the handler of SIGTERM, which Ray replaces by its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
