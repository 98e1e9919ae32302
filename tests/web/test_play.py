"""The page on which people take a seat."""

from pathlib import Path
from typing import Any

import pytest

from agent_league.web.league_reader import BrowserSeatOffer, JoinInstructions, LeagueReader
from agent_league.web.pages import read_page_data, render_page
from agent_league.web.pages.rules import PLAY_PAGE
from agent_league.web.rendering import LiveSite
from tests.web.seasons import reader_of, season_of

OFFER = BrowserSeatOffer(fallback="random")


def shown(reader: LeagueReader) -> str:
    return render_page(PLAY_PAGE, read_page_data(PLAY_PAGE, "", reader, LiveSite()), LiveSite())


def page(tmp_path: Path, offer: BrowserSeatOffer | None = OFFER, **season: Any) -> str:
    reader = reader_of(season_of(**season), tmp_path)
    reader.seat_offer = offer
    return shown(reader)


def test_before_the_start_there_is_a_form_and_what_one_wants_to_know(tmp_path: Path) -> None:
    reader = reader_of(season_of(1, room=2, started=False, game_type="connect_four"), tmp_path)
    reader.seat_offer = OFFER
    text = shown(reader)
    assert 'id="seat-form"' in text
    assert 'maxlength="40"' in text
    assert "Connect Four" in text
    assert "shown at each turn; when it is up, the strategy <b>random</b> plays for you" in text
    assert "1 more may come" in text


@pytest.mark.parametrize(
    ("awaited", "said"),
    [
        ((4, 3), "with 2 more players and 1 more referee, or when the organiser says so"),
        ((3, 2), "with 1 more player, or when the organiser says so"),
        ((2, 4), "with 2 more referees, or when the organiser says so"),
        ((0, 0), "<dd>when the organiser says so"),
    ],
)
def test_who_is_still_missing_is_said(tmp_path: Path, awaited: tuple[int, int], said: str) -> None:
    reader = reader_of(season_of(2, room=4, started=False), tmp_path)
    reader.seat_offer, reader.join_instructions = OFFER, JoinInstructions("http://localhost:1/mcp", *awaited)
    assert said in shown(reader)


@pytest.mark.parametrize(
    ("season", "said"),
    [
        ({"players": 4, "played": 1}, "The league is being played"),
        ({"players": 4}, "The league is over."),
        ({"players": 4, "started": False}, "The league is full."),
        ({"players": 4, "started": False, "offer": None}, "no seats in the browser"),
    ],
)
def test_whoever_can_t_take_a_seat_is_told_why_and_may_look_on(
    tmp_path: Path, season: dict[str, Any], said: str
) -> None:
    text = page(tmp_path, **season)
    assert said in text
    assert 'class="button primary" href="/"' in text
    assert "seat-form" not in text


def test_a_closed_registration_takes_nobody(tmp_path: Path) -> None:
    reader = reader_of(season_of(4, started=False), tmp_path)
    reader.seat_offer = OFFER
    reader.state.set_registration_open(is_open=False)
    assert "Registration is closed at the moment." in shown(reader)


def test_a_game_that_is_not_installed_here_is_called_by_its_name(tmp_path: Path) -> None:
    assert '<h2 id="game-title">Chess of mars</h2>' in page(
        tmp_path, players=2, started=False, game_type="chess_of_mars"
    )
