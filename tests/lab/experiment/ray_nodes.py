"""A real Ray cluster of two nodes on this machine, at loopback addresses of their own."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from agent_league.lab.experiment.ray_cluster import import_ray, open_ray
from tests.cli.command import until

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason='Ray is not installed: pip install "agent-league[ray]"')
ADDRESSES = ("127.0.0.2", "127.0.0.3")
"""Not 127.0.0.1, which Ray takes for another name of the machine."""
STORE_BYTES = 80 * 1024**2


@dataclass(frozen=True, slots=True)
class RayNodes:
    cluster: Any

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    def add_node(self, cpus: int = 1) -> "RayNode":
        """Start another node, at the second address."""
        return RayNode(
            self.cluster.add_node(num_cpus=cpus, object_store_memory=STORE_BYTES, node_ip_address=ADDRESSES[1])
        )

    def wait_for_count(self, count: int) -> None:
        """Wait until the cluster knows so many living nodes: it takes a while to miss one that was killed."""
        with open_ray(self.address) as ray:
            until(lambda: sum(node["Alive"] for node in ray.nodes()) == count, f"{count} living nodes")


@dataclass(frozen=True, slots=True)
class RayNode:
    node: Any

    def kill(self) -> None:
        """End the node as a power cut would, with all that runs on it."""
        process = self.node.all_processes["raylet"][0].process
        for pid in [process.pid, *_list_children(process.pid)]:
            with suppress(ProcessLookupError):  # it followed by itself
                os.kill(pid, signal.SIGKILL)
        process.wait()


def _list_children(pid: int) -> list[int]:
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for thread in threads for child in thread.read_text().split()]


@contextmanager
def start_cluster() -> Iterator[RayNodes]:
    """Start a cluster with one node of one CPU; it ends with the block."""
    ray = import_ray()
    cluster = _start_head()
    try:
        yield RayNodes(cluster)
    finally:
        ray.shutdown()
        cluster.shutdown()


def _start_head(attempts: int = 3) -> Any:
    """Start the first node. Ray gives its own processes half a minute to begin, which a busy machine may not keep."""
    head = {
        "num_cpus": 1,
        "object_store_memory": STORE_BYTES,
        "include_dashboard": False,
        "node_ip_address": ADDRESSES[0],
    }
    try:
        return import_module("ray.cluster_utils").Cluster(initialize_head=True, head_node_args=head)
    except RuntimeError:
        if attempts == 1:
            raise
        return _start_head(attempts - 1)
