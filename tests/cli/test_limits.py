"""The league's limits reach referees that were started by somebody else, with settings of their own."""

import json
import time
from pathlib import Path

from agent_league.config.home import make_home
from tests.cli.command import LEAGUE_ID, running
from tests.conftest import free_ports
from tests.foreign.sample_player import SamplePlayer
from tests.foreign.web import Message


class LatePlayer(SamplePlayer):
    """Takes longer than the league allows, and less than a referee's own files do."""

    name = "Late"

    def chosen(self, params: Message) -> Message:
        time.sleep(4)
        return super().chosen(params)


def test_a_limit_set_at_the_manager_counts_at_a_referee_of_another_folder(tmp_path: Path) -> None:
    port = free_ports(4)
    url = f"http://localhost:{port}/mcp"
    homes = {name: tmp_path / name for name in ("manager", "referee", "player")}
    for home in homes.values():
        make_home(home)
    options = ["--set", "timeouts.move_timeout_sec=2", "--set", "retry_policy.max_retries=1"]
    options += ["--players", "2", "--referees", "1"]
    with LatePlayer(port + 3, url) as late:
        agents = running(
            ["manager", "--port", port, *options, "--exit-when-done", "--home", homes["manager"]],
            ["referee", "--port", port + 1, "--manager", url, "--exit-when-done", "--home", homes["referee"]],
            ["player", "--port", port + 2, "--manager", url, "--exit-when-done", "--home", homes["player"]],
        )
        with agents as (manager, referee, player):
            manager.prints("Waiting for")
            player.prints("Registered as")
            assert late.register()["status"] == "ACCEPTED"
            assert (manager.ends(), referee.ends(), player.ends()) == (0, 0, 0)
    record = json.loads((homes["referee"] / "data/matches" / LEAGUE_ID / "R1M1.json").read_text())
    ends = record["result"]["terminations"]
    assert ends.pop(late.player_id) == "move_timeout"
    assert list(ends.values()) == ["normal"]
    assert record["limits"] == {
        "join_sec": 5,
        "v1_join_sec": 5,
        "move_sec": 2,
        "attempts": 1,
        "base_delay_sec": 2,
    }
