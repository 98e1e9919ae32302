"""Seats of visitors: a key leads back to its seat, in the league that it was taken in and in no other."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.launch.outside_player import OutsidePlayer
from agent_league.league.dial_out.seats import find_seat_id
from agent_league.league.settings import ManagerSettings
from agent_league.league.state import LeagueState
from agent_league.protocol.dial_out import SECRET_PATTERN
from agent_league.protocol.tokens import SigningKey
from agent_league.storage.paths import DataPaths
from agent_league.web.play.moving_players import MovingBrowserPlayers
from agent_league.web.play.seats import HANDLE_PATTERN, BrowserPlayers, hash_handle
from tests.web.seasons import season_of

KEY = "0" * 64


def visitors(home: Path, season: LeagueState, host: str = "127.0.0.1") -> BrowserPlayers:
    settings = ManagerSettings(ConfigLoader(home).load_system(), season.config, home, 2, 1)
    return BrowserPlayers(settings, season, host, 12000, OutsidePlayer)


def kept(home: Path) -> list[Path]:
    return list(DataPaths(home).credentials_folder.glob("visitor-*.json"))


def sat(home: Path, season: LeagueState, **changes: Any) -> BrowserPlayers:
    """Somebody sat here as the first player of the season; what was kept of it may have changed."""
    made = visitors(home, season)
    made.create_player(KEY, "Player 1")
    (file,) = kept(home)
    file.write_bytes(orjson.dumps({**orjson.loads(file.read_bytes()), "port": 8101, **changes}))
    return made


async def test_a_key_leads_back_to_its_player(home: Path) -> None:
    made = sat(home, season_of(2, started=False))
    assert made.list_keys() == [KEY]
    seat = made.restore_player(KEY)
    assert seat is not None
    assert (seat.settings.display_name, seat.settings.manager) == ("Player 1", "http://127.0.0.1:12000/mcp")
    assert kept(home)[0].stat().st_mode & 0o077 == 0


async def test_a_key_leads_back_to_a_player_that_dials_out(home: Path) -> None:
    season = season_of(2, started=False)
    season.move_agent("P01", f"http://class.example/seats/S{'0' * 24}/mcp")
    seat = sat(home, season, port=None).restore_player(KEY)
    assert seat is not None
    assert seat._dials_out
    assert sat(home, season, port=8101).restore_player(KEY) is None


@pytest.mark.parametrize(
    "changes",
    [{"port": 8109}, {"display_name": "Player 2"}, {"handle_sha256": "1" * 64}, {"port": None}, {"display_name": 7}],
)
async def test_nothing_leads_to_a_player_that_is_not_in_this_league_so(home: Path, changes: dict[str, Any]) -> None:
    assert sat(home, season_of(2, started=False), **changes).restore_player(KEY) is None


async def test_another_key_and_a_league_that_is_over_lead_nowhere(home: Path) -> None:
    season = season_of(2, started=False)
    made = sat(home, season)
    assert made.restore_player(KEY.replace("0", "1")) is None
    season._season_row = replace(season._season_row, announced=True)
    assert made.restore_player(KEY) is None
    assert kept(home) == [], "it is forgotten"


async def test_seats_at_another_manager_and_files_of_others_are_not_known(home: Path) -> None:
    season = season_of(2, started=False)
    assert sat(home, season).list_keys() == [KEY]
    (DataPaths(home).credentials_folder / "visitor-x.json").write_text("[")
    (DataPaths(home).credentials_folder / "visitor-y.json").write_text('{"handle_sha256": 7}')
    assert visitors(home, season).list_keys() == [KEY]
    assert visitors(home, season, "10.0.0.7").list_keys() == []


@pytest.mark.parametrize(
    ("host", "manager"),
    [("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("::1", "[::1]"), ("10.0.0.7", "10.0.0.7"), ("localhost", "localhost")],
)
async def test_a_manager_that_listens_everywhere_is_called_at_the_loopback(home: Path, host: str, manager: str) -> None:
    seat = visitors(home, season_of(2, started=False), host).create_player(KEY, "Ada")
    assert seat.settings.manager == f"http://{manager}:12000/mcp"
    assert seat.settings.game_types == ("even_odd",)


SECRETS = SigningKey.generate()


def moving(home: Path, season: LeagueState, key: SigningKey = SECRETS) -> MovingBrowserPlayers:
    """The browser players of a league that may go to other servers."""
    settings = ManagerSettings(ConfigLoader(home).load_system(), season.config, home, 2, 1)
    place = (settings, season, "127.0.0.1", 12000, OutsidePlayer)
    return MovingBrowserPlayers(*place, derive_secret=key.derive_match_key)


async def test_a_handle_leads_back_to_its_player_on_another_server_of_the_league(home: Path, tmp_path: Path) -> None:
    season = season_of(2, started=False)
    handle = moving(home, season).make_handle("Player 1")
    assert HANDLE_PATTERN.fullmatch(handle)
    secret = moving(home, season).create_player(hash_handle(handle), "Player 1")._seat_secret
    assert secret is not None
    assert SECRET_PATTERN.fullmatch(secret)
    assert moving(home, season).list_keys() == [], "nobody is called there yet"
    season.move_agent("P01", f"http://class.example/seats/{find_seat_id(secret)}/mcp")
    make_home(tmp_path)
    elsewhere = moving(tmp_path, season)
    assert elsewhere.list_keys() == [hash_handle(handle)]
    seat = elsewhere.restore_player(hash_handle(handle))
    assert seat is not None
    assert (seat.settings.display_name, seat._seat_secret, seat._dials_out) == ("Player 1", secret, True)
    assert kept(home) == kept(tmp_path) == [], "no server keeps anything"


async def test_another_season_s_handle_and_a_name_of_a_player_of_its_own_lead_nowhere(home: Path) -> None:
    season = season_of(2, started=False)
    made = moving(home, season)
    assert made.restore_player(hash_handle(made.make_handle("Player 2"))) is None, "an agent at an address of its own"
    secret = made.create_player(KEY, "Player 1")._seat_secret
    assert secret is not None
    season.move_agent("P01", f"http://class.example/seats/{find_seat_id(secret)}/mcp")
    other = moving(home, season, SigningKey.generate())
    assert other.make_handle("Player 1") != made.make_handle("Player 1")
    assert made.restore_player(hash_handle(other.make_handle("Player 1"))) is None
    assert made.restore_player(KEY) is None
    season._season_row = replace(season._season_row, announced=True)
    assert made.restore_player(hash_handle(made.make_handle("Player 1"))) is None
