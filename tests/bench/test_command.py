"""`league dev bench` as a person uses it."""

import json
import signal
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bench.command import PARTS
from tests.cli.command import environment, league_process, running
from tests.conftest import free_ports

LEAGUE_KEYS = {
    *("players", "matches", "calls", "calls_per_match", "runs", "seconds", "seconds_to_start", "matches_per_second"),
    *("calls_per_second", "cpu_us_per_match", "cpu_us_per_match_by_process", "memory_mib_by_process"),
    *("manager_kib_per_match", "call_ms_p50", "call_ms_p99", "call_p99_to_p50"),
    *("limit_calls_per_second", "limit_cpu_us_per_call", "floor_calls_per_second", "floor_cpu_us_per_call"),
    *("stock_calls_per_second", "stock_cpu_us_per_call"),
    *("ratio_to_limit", "ratio_to_floor", "ratio_to_stock"),
    *("cpu_ratio_to_limit", "cpu_ratio_to_floor", "cpu_ratio_to_stock"),
    *("strangers_cpu_us_per_match", "strangers_cpu_ratio_to_stock"),
}


def bench(*options: object) -> list[object]:
    return ["dev", "bench", "--port", free_ports(120), "--referees", 1, *options]


def test_a_quick_bench_prints_one_object_and_the_table_beside_it(tmp_path: Path) -> None:
    picture = tmp_path / "plot.svg"
    done = league_process(*bench("--quick", "--only", "league", "--players", "6,4", "--json", "--plot", picture))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [set(one) for one in found["leagues"]] == [LEAGUE_KEYS, LEAGUE_KEYS]
    assert [(one["players"], one["matches"]) for one in found["leagues"]] == [(4, 6), (6, 15)]
    assert [one["players"] for one in found["growth"]] == [4, 6]
    assert [one["strangers_cpu_ratio_to_stock"] is not None for one in found["leagues"]] == [False, True]
    assert {"cpu_ratio_to_stock", "growth_cpu_per_match"} < {one["name"] for one in found["goals"]}
    assert "Goals on two cores" in done.stderr
    ET.parse(picture)


def test_the_first_match_of_a_real_command_is_timed() -> None:
    done = league_process(*bench("--quick", "--only", "first_match"))
    assert done.returncode == 0, done.stderr
    assert "`league run` with 4 players, first match, s" in done.stdout


def test_the_help_of_commands_is_timed_beside_a_bare_python() -> None:
    done = league_process(*bench("--quick", "--only", "help", "--json"))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["help"]
    assert found["seconds"] > found["python_seconds"] > 0
    assert all(found["cpu_seconds"][name] > 0 for name in ("run", "demo", "play"))


def test_an_unknown_part_is_named() -> None:
    done = league_process(*bench("--only", "speed"))
    assert done.returncode == 1
    assert done.stderr == f"bench: --only takes {', '.join(PARTS)}, not speed\n"


def test_the_help_is_that_of_the_bench() -> None:
    done = league_process("dev", "bench", "--help")
    assert done.returncode == 0
    assert all(option in done.stdout for option in ("--quick", "--json", "--plot", "--only", "--players", "--against"))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_everything_that_was_started_ends_with_the_bench(number: signal.Signals, code: int) -> None:
    """The end of its output is the end of the last process that could have written to it."""
    with running(bench("--only", "league", "--players", 10), env=environment()) as (started,):
        started.prints("bench: 10 players, 1 of 7")
        started.signal(number)
        assert started.ends() == code
        assert "Traceback" not in started.text
