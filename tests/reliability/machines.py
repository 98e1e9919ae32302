"""Two machines with a cable between them: network namespaces, for what crosses a network."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

Prefix = list[str]
"""What a command begins with to run on a machine."""


class MachinesUnavailable(Exception):
    """Network namespaces can't be made here; the message says why."""


def run_ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def connect_machines(network: str = "10.77.0") -> Iterator[tuple[Prefix, Prefix]]:
    """Make the machines NETWORK.1 and NETWORK.2; raises MachinesUnavailable."""
    names = [f"league-{os.getpid()}-{number}" for number in (1, 2)]
    cables = [f"al{os.getpid() % 100_000}x{number}" for number in (1, 2)]
    if shutil.which("ip") is None:
        raise MachinesUnavailable("needs `ip`, of the package iproute2")
    try:
        try:
            _connect(names, cables, network)
        except subprocess.CalledProcessError as error:
            why = error.stderr.decode().strip()
            raise MachinesUnavailable(f"network namespaces can't be made here: {why}") from None
        here, there = (["ip", "netns", "exec", name] for name in names)
        yield here, there
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


def _connect(names: list[str], cables: list[str], network: str) -> None:
    for name in names:
        run_ip("netns", "add", name)
    ends = [("name", cable, "netns", name) for cable, name in zip(cables, names, strict=True)]
    run_ip("link", "add", *ends[0], "type", "veth", "peer", *ends[1])
    for number, (name, cable) in enumerate(zip(names, cables, strict=True), start=1):
        run_ip("-n", name, "addr", "add", f"{network}.{number}/24", "dev", cable)
        for device in ("lo", cable):
            run_ip("-n", name, "link", "set", device, "up")
