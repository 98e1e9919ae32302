"""`league player --rejoin`: one process, many leagues."""

import asyncio
import signal
from importlib.metadata import entry_points
from pathlib import Path

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.games.registry import GAME_ENTRY_POINTS
from agent_league.launch.plan import LeagueRequest, make_league_plan
from agent_league.model.events import LeagueCompleted, MatchFinished
from agent_league.model.results import Outcome
from tests.cli.command import Running, running, until
from tests.conftest import free_ports
from tests.launch.scripted_guests import hosted

BUILT_IN = [
    point.name for point in entry_points(group=GAME_ENTRY_POINTS) if point.value.startswith("agent_league.games.")
]
SHORT = {"prisoners_dilemma": {"repeat": 5}, "odds_and_evens": {"repeat": 5}, "rock_paper_scissors": {"first_to": 2}}
OVER = "The league is over: "


async def test_one_unchanged_player_process_takes_part_in_leagues_of_every_game(tmp_path: Path) -> None:
    """The rest of each league is hosted here, at the same addresses."""
    port = free_ports(4)
    names = ["--player-id", "P02", "--name", "Everywhere"]
    command = ["player", "--port", port + 3, "--strategy", "any_legal", "--rejoin", *names]
    where = ["--manager", f"localhost:{port}", "--home", tmp_path / "its own"]
    assert len(BUILT_IN) == 8
    with running([*command, *where]) as (player,):
        for game in BUILT_IN:
            completed, matches = await play(tmp_path / game, port, game, player)
            assert completed.league_id == f"league_{game}"
            assert [match.result.outcome for match in matches if match.result.outcome is Outcome.TECHNICAL_LOSS] == []
            assert {row.display_name: row.played for row in completed.standings} == {"Agent Alpha": 1, "Everywhere": 1}
            assert player.process.poll() is None, player.text
        player.signal(signal.SIGINT)
        assert player.ends() == 0
    assert_said_little(player, leagues=len(BUILT_IN))


async def play(
    home: Path, port: int, game: str, guest: Running, protocol: str = "v2"
) -> tuple[LeagueCompleted, list[MatchFinished]]:
    """A league of two at the same addresses as all others, one of them a guest."""
    make_home(home)
    before = guest.text.count(OVER)
    request = LeagueRequest(
        home=home,
        players=2,
        referees=1,
        strategies=("random",),
        manager_port=port,
        referee_port=port + 1,
        player_port=port + 2,
        game=game,
        parameters=SHORT.get(game, {}),
        protocol=protocol,
    )
    async with hosted(make_league_plan(ConfigLoader(home), request), guests=1) as league:
        completed = await league.completed()
        await asyncio.to_thread(until, lambda: guest.text.count(OVER) > before, "the guest knows of the end")
        return completed, [event for event in league.events if isinstance(event, MatchFinished)]


def assert_said_little(player: Running, leagues: int) -> None:
    """A line for each thing that happened, not for each attempt."""
    assert player.text.count("Registered as P02.") == player.text.count(OVER) == leagues
    assert player.text.count("R1M1 against P01: ") == leagues
    assert player.text.count("No League Manager answers") <= 1
    assert len(player.text.splitlines()) <= 3 * leagues + 2
