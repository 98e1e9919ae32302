"""Every link of every page leads somewhere (of files: `test_export`), and nobody's words become markup."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_league.league.state import LeagueState
from agent_league.model.results import FAULT_KEY, MatchResult, Outcome, Termination
from agent_league.web.app import WebApp
from agent_league.web.league_reader import LeagueReader
from agent_league.web.page import Page
from agent_league.web.pages import PAGES
from agent_league.web.pages.overview import BRACKET_PAGE, GROUPS_PAGE
from tests.harm import BIDI, SCRIPT
from tests.web.browsing import Element, get, parsed, text_of
from tests.web.format_seasons import CUP, cup_season, formatted_season
from tests.web.seasons import play_on, reader_of, season_of

SEASONS: dict[str, Callable[[], LeagueState]] = {
    "empty": lambda: season_of(0, referees=0, started=False),
    "waiting": lambda: season_of(4, started=False),
    "running": lambda: season_of(5, 4),
    "over": lambda: season_of(4, double=True),
    "groups": lambda: cup_season(5),
    "bracket": lambda: cup_season(14),
}
"""A league at each of its stages."""


def addresses(page: Element) -> Iterator[str]:
    for tag, name in (("a", "href"), ("link", "href"), ("script", "src"), ("img", "src")):
        yield from (one.attributes[name] for one in page.all(tag) if name in one.attributes)


def names_of(page: Element) -> set[str]:
    """What a link with # may lead to."""
    return {one.attributes["id"] for one in page._below() if "id" in one.attributes}


@pytest.mark.parametrize("stage", SEASONS)
async def test_every_link_leads_to_a_page_that_is_there(stage: str, tmp_path: Path) -> None:
    app = WebApp(reader_of(SEASONS[stage](), tmp_path))
    seen: dict[str, set[str]] = {}
    waiting, wanted = ["/"], set[tuple[str, str, str]]()
    while waiting:
        here = waiting.pop()
        if here in seen:
            continue
        status, text = await get(app, here)
        assert status == 200, here
        is_page = text.startswith("<!doctype html>")
        page = parsed(text) if is_page else Element("file")
        seen[here] = names_of(page)
        for address in addresses(page):
            path, _, anchor = address.partition("#")
            assert address.startswith(("/", "#")), (here, address)
            waiting.append(path or here)
            if anchor and "=" not in anchor:  # with one it is a place that a script knows
                wanted.add((here, path or here, anchor))
    missing = [(here, path, anchor) for here, path, anchor in wanted if anchor not in seen[path]]
    assert not missing
    await app.close()


def hostile_season(scheduling: dict[str, Any]) -> LeagueState:
    """Everything that somebody else may have said, in the worst words."""
    season = formatted_season(4, 0, scheduling, names=[SCRIPT, BIDI], display_name=SCRIPT)
    first, second = season.schedule.rounds[0].pairings
    said = {"moves": [dict.fromkeys(first.players, f"{SCRIPT}{BIDI}")]}
    ends = {first.player_b: Termination.ILLEGAL_MOVE}
    lost = MatchResult(first.match_id, 1, first.players, Outcome.TECHNICAL_LOSS, first.player_a, said, ends)
    season.record_result(lost, season.assigned_referees[first.match_id])
    void = dict.fromkeys(second.players, Termination.VOID)
    why = {FAULT_KEY: f"{SCRIPT} {BIDI}"}
    broken_off = MatchResult(second.match_id, 1, second.players, Outcome.TECHNICAL_LOSS, None, why, void)
    season.record_result(broken_off, season.assigned_referees[second.match_id])
    for agent_id in ("P01", "P02", "REF01"):
        season.note_deviations(agent_id, [f"{SCRIPT} {BIDI}"])
    season.complete_round(1)
    play_on(season, 100)
    return season


@pytest.mark.parametrize("page", PAGES, ids=[page.path or "overview" for page in PAGES])
def test_nobodys_words_become_markup_or_turn_the_line_around(page: Page, tmp_path: Path) -> None:
    reader: LeagueReader = reader_of(hostile_season(CUP if page in (BRACKET_PAGE, GROUPS_PAGE) else {}), tmp_path)
    for key in page.list_keys(reader):
        text = text_of(page, reader, key)
        assert SCRIPT not in text
        assert "\u202e" not in text
        assert "&lt;script&gt;" in text
        assert not [one for one in parsed(text).all("script") if "src" not in one.attributes]
        assert " style=" not in text
        assert " onclick=" not in text
