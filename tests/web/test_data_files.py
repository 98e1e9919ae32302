"""The league's tables at plain addresses: what an export has, for whoever may see it."""

import json
from pathlib import Path

import pytest

from agent_league.league.visibility import VISITOR
from agent_league.web.app import WebApp
from agent_league.web.export import build_document, format_table_csv
from agent_league.web.pages.overview import SCHEDULE_PAGE
from agent_league.web.pages.table import TABLE_PAGE
from agent_league.web.rendering import FileSite
from tests.web.browsing import shown, text_of
from tests.web.seasons import play_on, reader_of, season_of
from tests.web.serving import visiting


@pytest.mark.parametrize("name", ["standings", "matches"])
async def test_a_table_is_at_its_address_as_an_export_has_it(name: str, tmp_path: Path) -> None:
    reader = reader_of(season_of(6, 8, names=["=1+1"]), tmp_path)
    async with visiting(WebApp(reader)) as visitor:
        reply = await visitor.get(f"/{name}.csv")
    assert (reply.status, reply.headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert reply.text == format_table_csv(build_document(reader, ""), name)


async def test_the_standings_are_there_as_json_with_the_league(tmp_path: Path) -> None:
    season = season_of(6, 8)
    async with visiting(WebApp(reader_of(season, tmp_path), max_age_seconds=0)) as visitor:
        first = await visitor.get("/standings.json")
        play_on(season, 100)
        told = json.loads((await visitor.get("/standings.json")).text)
    assert (first.status, first.headers["content-type"]) == (200, "application/json")
    assert json.loads(first.text)["league"]["matches_played"] == 8
    assert (told["league"]["phase"], told["league"]["matches_played"]) == ("COMPLETED", 15)
    assert [(row["player_id"], row["points"]) for row in told["standings"]] == [
        (row.player_id, row.points) for row in season.standings()
    ]


@pytest.mark.parametrize(("visibility", "shows_rows"), [("pseudonyms", True), ("top_ten", False)])
async def test_what_visitors_may_not_see_is_not_in_the_tables(
    visibility: str, shows_rows: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    season = season_of(14, names=[f"Secret {number}" for number in range(1, 15)])
    monkeypatch.setattr(season, "config", season.config.model_copy(update={"visibility": visibility}))
    visitors = reader_of(season, tmp_path).seen_by(VISITOR)
    async with visiting(WebApp(visitors)) as visitor:
        told = [(await visitor.get(f"/{name}")).text for name in ("standings.json", "standings.csv", "matches.csv")]
    seen = {row.player_id for row in visitors.state.standings()}
    assert len(seen) == (14 if shows_rows else 10)
    leading = {row.display_name for row in season.standings()[:10]} if visibility == "top_ten" else set()
    for number in range(1, 15):
        assert (f'"Secret {number}"' in told[0]) is (f"Secret {number}" in leading)
        assert (f'"Secret {number}"' in told[1]) is (f"Secret {number}" in leading)
    if not shows_rows:
        hidden = set(season.roster.players()) - seen
        both_hidden = [one.match_id for one in season.schedule.pairings if set(one.players) <= hidden]
        assert both_hidden
        assert not [match_id for match_id in both_hidden if f'"{match_id}"' in told[2]]


def test_pages_lead_to_the_tables_where_these_are_served(tmp_path: Path) -> None:
    reader = reader_of(season_of(4), tmp_path)
    links = {link.attributes["href"] for page in (TABLE_PAGE, SCHEDULE_PAGE) for link in shown(page, reader).all("a")}
    assert {"/standings.csv", "/standings.json", "/matches.csv"} <= links
    assert "standings.csv" not in text_of(TABLE_PAGE, reader, site=FileSite())
