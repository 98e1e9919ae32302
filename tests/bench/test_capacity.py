"""The model of what more players need, and the page that shows it."""

from pathlib import Path

from bench.capacity import PLAYERS, RECORDED, Usage, work_out_need, write_tables
from bench.claims import LEAGUES, measure_claims
from tests.storage.conftest import database, postgres

__all__ = ["database", "postgres"]

PAGE = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")


def test_the_page_shows_what_the_model_says() -> None:
    for table in write_tables(RECORDED, Usage()).split("\n\n"):
        assert table in PAGE, "run `python -m bench.capacity` and put its tables into docs/scale.md"


def test_more_players_need_more_and_the_first_limit_is_named() -> None:
    needs = [work_out_need(players, RECORDED, Usage()) for players in PLAYERS]
    assert [need.servers for need in needs] == sorted(need.servers for need in needs)
    assert needs[0].servers == 1
    assert not [*needs[1].limits()]
    assert next(needs[-1].limits()).startswith("max_connections")
    small = work_out_need(100_000, RECORDED, Usage(league_size=2))
    assert any(limit.startswith("looks at the directory") for limit in small.limits())
    slower = work_out_need(1_000, RECORDED, Usage(move_seconds=2.0))
    assert slower.matches_per_second == needs[1].matches_per_second / 2


def test_claims_are_measured(database: str) -> None:
    figures = measure_claims(database, 0.2)
    assert LEAGUES > 0
    assert min(*figures.claims_per_second.values(), figures.batched_leagues_per_second, figures.renewals_per_second) > 0
