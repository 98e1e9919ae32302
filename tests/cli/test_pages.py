"""The manager's pages as the commands have them: where they are, how long they stay, and how to do without."""

import json
import signal
import urllib.error
import urllib.request
from http.client import HTTPResponse
from pathlib import Path

import pytest

from tests.cli.command import league, ports, running, until
from tests.conftest import BOUND, free_ports


def opened(url: str) -> HTTPResponse | None:
    """An answer with its body unread, once somebody listens there."""
    try:
        answer: HTTPResponse = urllib.request.urlopen(url, timeout=BOUND)
    except (urllib.error.URLError, ConnectionError):
        return None
    return answer


def test_a_run_that_is_watched_ends_by_itself_and_tells_how(tmp_path: Path) -> None:
    where = ports()
    with running(["run", "--home", tmp_path, "--json", *where]) as (run,):
        url = f"http://localhost:{where[1]}/events?form=json"
        with until(lambda: opened(url), "the feed") as stream:
            told = [json.loads(line[6:]) for line in stream if line.startswith(b"data: {")]
        assert run.ends() == 0, run.text
    assert "Watch it at" not in run.text
    assert [message["progress"]["phase"] for message in told if "progress" in message][-1] == "COMPLETED"
    table = [message["standings"]["rows"] for message in told if "standings" in message][-1]
    standings = json.loads("".join(run.out))["standings"]
    assert [(row["player_id"], row["points"]) for row in table] == [
        (row["player_id"], row["points"]) for row in standings
    ]


def test_a_run_that_stays_keeps_its_pages_until_ctrl_c(tmp_path: Path) -> None:
    where = ports()
    with running(["run", "--home", tmp_path, "--stay", *where]) as (run,):
        run.prints(f"Watch it at http://localhost:{where[1]}/\n")
        run.prints("The manager and its pages stay until Ctrl-C.")
        base = f"http://localhost:{where[1]}"
        page, stream = opened(base), opened(f"{base}/events")
        assert page is not None
        assert stream is not None
        with page, stream:
            assert b"Champion" in page.read()
            run.signal(signal.SIGINT)
            assert run.ends() == 0, run.text
    assert "Interrupted" not in run.text
    assert run.text.count("\nChampion") == 1


def test_a_manager_says_where_its_pages_are_where_it_has_any(tmp_path: Path) -> None:
    port = free_ports(2)
    commands = [
        ["manager", "--home", tmp_path / name, "--port", port + number, *options]
        for number, (name, options) in enumerate([("with", []), ("without", ["--no-web"])])
    ]
    with running(*commands) as managers:
        for manager in managers:
            manager.prints("The admin token is in")
        pages = [opened(f"http://localhost:{port + number}/") for number in range(2)]
        healths = [opened(f"http://localhost:{port + number}/health") for number in range(2)]
        assert [page is not None for page in pages] == [True, False]
        assert all(healths)
        for answer in filter(None, (*pages, *healths)):
            answer.close()
        for manager in managers:
            manager.signal(signal.SIGINT)
            manager.ends()
    assert [f"Watch it at http://localhost:{port}/\n" in manager.text for manager in managers] == [True, False]
    assert "Watch it at" not in managers[1].text


@pytest.mark.parametrize("option", [None, "--no-stay", "--json"])
def test_a_run_waits_for_the_people_who_are_to_play_and_lets_them_look_at_the_end(
    tmp_path: Path, option: str | None
) -> None:
    where = ports()
    command = ["run", "--home", tmp_path, "--players", "1", "--people", "1", "--set", "timeouts.move_timeout_sec=1"]
    with running([*command, *where, *([option] if option else [])]) as (run,):
        if option != "--json":
            run.prints(f"It starts once one person takes a seat at http://localhost:{where[1]}/play")
        url = f"http://localhost:{where[1]}/play"
        with until(lambda: opened(url), "the page"):
            pass
        body = json.dumps({"name": "Ada"}).encode()
        asked = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=BOUND) as answer:
            assert answer.status == 201
        if option is None:
            run.prints("The manager and its pages stay until Ctrl-C.")
            with until(lambda: opened(f"http://localhost:{where[1]}/matches/R1M1"), "the person's match") as page:
                assert page.status == 200
            run.signal(signal.SIGINT)
        assert run.ends() == 0, run.text
    assert option == "--json" or "after 1 match in 1 round" in run.text
    assert "Ada" in run.text


def test_people_need_pages(tmp_path: Path) -> None:
    done = league("run", "--home", tmp_path, "--people", "1", "--no-web", *ports())
    assert done.returncode == 2
    assert "--people play on the manager's pages" in done.stderr
