"""What language models used, while a league runs: on the overview, in `league watch`, and in `/metrics`."""

from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from agent_league.agent.metrics import AgentMetrics
from agent_league.league.app import collect_league_gauges
from agent_league.league.state import LeagueState
from agent_league.model.model_usage import ModelUsage
from agent_league.web.metrics import METRICS, MetricsExposition
from tests.cli.test_watch import board_of, picture, served
from tests.conftest import free_ports
from tests.web.seasons import reader_of, season_of
from tests.web.test_metrics import samples, total, value

EVIL_MODEL = "<script>evil</script>"
USED = ModelUsage(EVIL_MODEL, 4, 1200, 80, 0.25, 0, 6000.0, 2, 1, 3)


@pytest.fixture
def season() -> LeagueState:
    """A league in which P01 plays by a model; two of its matches are over."""
    season = season_of(4, 5)
    played = [one for one in season.results.values() if "P01" in season.get_pairing(one.match_id).players][:2]
    for result in played:
        season.results[result.match_id] = replace(result, usage={"P01": USED})
    assert season.collect_model_usage()["P01"].moves == 8
    return season


def scrape(season: LeagueState) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    page = MetricsExposition(METRICS, lambda: collect_league_gauges(season, AgentMetrics(), {}))
    text = page()[0].decode()
    assert "evil" not in text
    return samples(text)


def test_metrics_have_the_sums_by_player_and_no_word_of_a_stranger(season: LeagueState) -> None:
    found = scrape(season)
    assert value(found, "model_moves_total", agent_id="P01", by="model") == 2
    assert value(found, "model_moves_total", agent_id="P01", by="fallback") == 6
    assert value(found, "model_tokens_total", agent_id="P01", kind="input") == 2400
    assert value(found, "model_tokens_total", agent_id="P01", kind="output") == 160
    assert value(found, "model_cost_dollars_total", agent_id="P01") == 0.5
    assert value(found, "model_answer_seconds_total", agent_id="P01") == 12
    assert value(found, "model_useless_answers_total", agent_id="P01", how="illegal") == 4
    assert value(found, "model_useless_answers_total", agent_id="P01", how="late") == 2
    assert total(found, "model_tokens_total") == 2560, "nobody else has a model"


@pytest.mark.parametrize("visibility", ["pseudonyms", "top_ten", "members"])
def test_metrics_say_nothing_of_models_where_names_are_hidden(season: LeagueState, visibility: str) -> None:
    season.config = season.config.model_copy(update={"visibility": visibility})
    assert total(scrape(season), "model_tokens_total") == 0


def test_watch_shows_what_models_used_and_prints_it_at_the_end(season: LeagueState) -> None:
    board = board_of(season)
    line = next(line for line in picture(board, 180) if "tokens" in line)
    assert f"P01 {EVIL_MODEL}: 2,560 tokens, $0.5000, 4 illegal, 2 late" in line
    assert board.read_model_usage() == season.collect_model_usage()
    assert not any("tokens" in line for line in picture(board_of(season_of(4, 5)), 180))


async def test_the_overview_has_a_line_on_models_if_there_are_some(season: LeagueState) -> None:
    pages = []
    for one in (season, season_of(4, 5)):
        async with (
            served(reader_of(one, Path()), free_ports(1)) as url,
            aiohttp.ClientSession() as session,
            session.get(url.removesuffix("mcp")) as answer,
        ):
            pages.append(await answer.text())
    sentence = "1 player with language models: 8 moves (6 by a fallback), 2,560 tokens, $0.5000, 1500 ms a move, "
    assert f"{sentence}4 illegal and 2 late answers. As the players say." in pages[0]
    assert "evil" not in pages[0]
    assert "language models" not in pages[1]
