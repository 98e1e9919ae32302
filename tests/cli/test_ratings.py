"""`league ratings`: players of several leagues rated together, and every mistake in a sentence."""

import csv
import io
from pathlib import Path

import pytest

from agent_league.ratings.tables import RATING_COLUMNS
from tests.cli.leagues import keep, said


def test_leagues_of_several_games_are_pooled_by_display_name(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    keep(one, 4, names=("Ann", "Bob", "Cid", "Dan"))
    keep(other, 4, names=("Dan", "ann", "Eve", "Bob"), game_type="nim")
    told = said("ratings", one, other, one, "--json").json
    assert told["identity"] == "display_name"
    assert [(league["game_type"], league["matches"]) for league in told["leagues"]] == [("even_odd", 6), ("nim", 6)]
    ratings = told["ratings"]["all_results"]["ratings"]
    assert sorted(rating["player_id"] for rating in ratings) == ["Ann", "Bob", "Cid", "Dan", "Eve"]
    assert sum(rating["games"] for rating in ratings) == 24, "each league once, though it was named twice"
    assert [seat["game"] for seat in told["ratings"]["all_results"]["seat_advantages"]] == ["nim"]
    assert not told["ratings"]["unconnected_groups"]
    text = said("ratings", one, other).out
    assert "2 leagues, 2 games" in text
    assert "Players of the same display name are the same player. Every game has the same weight." in text
    assert "The first seat of Nim is worth" in text


def test_versions_can_be_rated_apart(tmp_path: Path) -> None:
    keep(tmp_path / "one", 3, names=("Ann", "Bob", "Cid"))
    told = said("ratings", tmp_path / "one", "--versions", "--json").json
    ratings = told["ratings"]["all_results"]["ratings"]
    assert {rating["player_id"] for rating in ratings} == {"Ann 1.0.0", "Bob 1.0.0", "Cid 1.0.0"}
    assert told["identity"] == "display_name and version"


def test_the_table_goes_to_a_file_or_to_stdout(tmp_path: Path) -> None:
    keep(tmp_path / "one", 3, names=("=1+1", "Bob", "Cid"))
    done = said("ratings", tmp_path / "one", "--csv", tmp_path / "all.csv")
    assert (done.code, done.out) == (0, "")
    text = (tmp_path / "all.csv").read_text()
    assert said("ratings", tmp_path / "one", "--csv", "-").out == text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert tuple(rows[0]) == RATING_COLUMNS[1:]
    assert {row["display_name"] for row in rows} == {"'=1+1", "Bob", "Cid"}
    assert "can't both have stdout" in said("ratings", tmp_path / "one", "--csv", "-", "--json").error


def test_players_who_never_meet_are_named(tmp_path: Path) -> None:
    keep(tmp_path / "one", 2, names=("Ann", "Bob"))
    keep(tmp_path / "other", 2, names=("Cid", "Dan"))
    text = said("ratings", tmp_path / "one", tmp_path / "other").out
    assert "These never met, not even through common opponents: Ann and Bob; Cid and Dan." in text


def test_folders_without_a_league_or_result_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    keep(tmp_path / "new", 3, 0)
    keep(tmp_path / "one", 3)
    assert "no-such: there is no such folder; name those that" in said("ratings", tmp_path / "no-such").error
    assert "empty: it is no SHARED folder; name those that" in said("ratings", tmp_path / "empty").error
    monkeypatch.chdir(tmp_path / "empty")
    assert "There is no SHARED folder here; name those that" in said("ratings").error
    alone = said("ratings", tmp_path / "new")
    assert "league_of_tests has no completed round with a result yet, and is left out." in alone.err
    assert "There is no result to rate players by" in alone.error
    assert said("ratings", tmp_path / "new", tmp_path / "one", "--json").json["leagues"][0]["matches"] == 3
