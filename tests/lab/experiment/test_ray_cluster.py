"""Which Ray cluster is used, and what is said where there is none. No cluster is started here."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from agent_league.errors import UserError
from agent_league.lab.experiment import ray_cluster
from agent_league.lab.experiment.engine_choice import choose_engine
from agent_league.lab.experiment.engines import ProcessEngine
from agent_league.lab.experiment.ray_cluster import open_ray
from agent_league.lab.experiment.ray_engine import make_piece_task
from agent_league.version import __version__
from tests.conftest import free_port
from tests.lab.experiment.ray_nodes import needs_ray


def test_processes_are_the_default_and_other_words_are_refused() -> None:
    assert choose_engine(jobs=3) == ProcessEngine(3)
    for wrong in ("dask", "ray=", "rays", ""):
        with pytest.raises(UserError, match=r"^--on: expected processes, ray or ray=ADDRESS; found "):
            choose_engine(wrong)


def test_without_ray_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"^Ray is not installed .*: pip install 'agent-league\[ray\]'"):
        choose_engine("ray")


def test_a_token_for_clusters_is_used_as_ray_start_asks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "import_module", lambda name: name)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (ray_cluster.TOKEN_MODE_VARIABLE, *ray_cluster.TOKEN_VARIABLES):
        monkeypatch.setenv(name, "")  # else what is set below would outlast the test
        monkeypatch.delenv(name)
    ray_cluster.import_ray()
    assert ray_cluster.TOKEN_MODE_VARIABLE not in os.environ
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").touch()
    ray_cluster.import_ray()
    assert os.environ[ray_cluster.TOKEN_MODE_VARIABLE] == "token"
    monkeypatch.setenv(ray_cluster.TOKEN_MODE_VARIABLE, "disabled")
    ray_cluster.import_ray()
    assert os.environ[ray_cluster.TOKEN_MODE_VARIABLE] == "disabled"


def test_a_client_is_reached_at_the_address_by_which_it_reaches_the_cluster() -> None:
    assert ray_cluster.find_own_address(None, "ray://127.0.0.2:10001") == "127.0.0.1"


@needs_ray
@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("PORT", r"^--on ray: no Ray cluster answers at 127\.0\.0\.1:\d+\. `ray start --head` starts one"),
        ("127.0.0.1", r"^--on ray: expected HOST:PORT, .*; found '127\.0\.0\.1'$"),
        ("http://127.0.0.1:1", r"^--on ray: expected HOST:PORT, "),
        ("x:y:z", r"^--on ray: expected HOST:PORT, "),
    ],
)
def test_an_address_without_a_cluster_is_refused_at_once(address: str, problem: str) -> None:
    given = f"127.0.0.1:{free_port()}" if address == "PORT" else address
    with pytest.raises(UserError, match=problem), open_ray(given):
        pass


def test_without_an_address_a_cluster_that_runs_here_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    assert ray_cluster._find_address(None) is None
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text(f"127.0.0.1:{free_port()}")
    assert ray_cluster._find_address(None) is None, "one that is gone isn't"
    monkeypatch.setattr(ray_cluster, "_is_answering", lambda *_: True)
    assert ray_cluster._find_address(None) == (tmp_path / "ray" / "ray_current_cluster").read_text()
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.5:6379")
    assert ray_cluster._find_address(None) == "10.0.0.5:6379"
    assert ray_cluster._find_address("10.0.0.6:6379") == "10.0.0.6:6379"
    assert ray_cluster._find_address("local") is None


def test_a_worker_with_another_version_or_none_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    task = make_piece_task()
    kind, sentence = task(b"", "0.0.1", False)
    assert (kind, sentence.partition(" has ")[2]) == (
        "refused",
        f"agent-league {__version__}, this is 0.0.1: install the same on every node",
    )
    monkeypatch.setitem(sys.modules, "agent_league.version", None)
    kind, sentence = task(b"", "0.0.1", False)
    assert kind == "refused"
    assert "has no agent-league 0.0.1 (" in sentence


@needs_ray
def test_the_task_can_be_read_by_a_worker_that_has_nothing_of_ours() -> None:
    cloudpickle = import_module("ray.cloudpickle")
    script = (
        "import sys; sys.modules['agent_league'] = None; from ray import cloudpickle;"
        " print(*cloudpickle.loads(sys.stdin.buffer.read())(b'', '1.0', False))"
    )
    packed = cloudpickle.dumps(make_piece_task())
    done = subprocess.run([sys.executable, "-c", script], input=packed, capture_output=True, check=True)
    assert re.match(r"refused The Ray worker at \S+ has no agent-league 1\.0 \(", done.stdout.decode())
