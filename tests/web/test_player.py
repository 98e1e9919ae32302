"""A player's page: its results, charts and habits, and nothing that is not over yet."""

from collections.abc import Sequence
from pathlib import Path

import orjson
import pytest

from agent_league.launch.in_process import play_in_process
from agent_league.league.state import LeagueState
from agent_league.model.results import MatchResult, Outcome, Termination
from agent_league.ratings.bradley_terry import fit_ratings
from agent_league.ratings.tables import ResultRow
from agent_league.storage.files import write_json
from agent_league.storage.paths import DataPaths
from agent_league.web import rating_history
from agent_league.web.league_ratings import RatingInput
from agent_league.web.page import PageNotFound
from agent_league.web.pages import agents as player_page
from agent_league.web.pages.agents import PLAYER_PAGE
from tests.conftest import PlanMaker
from tests.web.browsing import shown, text_of
from tests.web.seasons import play_on, reader_of, season_of


def test_all_its_matches_are_there_with_results_points_and_links(tmp_path: Path) -> None:
    season = season_of(8)
    rows = shown(PLAYER_PAGE, reader_of(season, tmp_path), "P03").table("Matches of")
    own = [one for one in season.results.values() if "P03" in one.players]
    assert [row[0].one("a").attributes["href"] for row in rows] == [f"/matches/{one.match_id}" for one in own]
    assert [int(row[4].text) for row in rows] == [season.scoring.points_for(one, "P03") for one in own]
    opponents = [next(player_id for player_id in one.players if player_id != "P03") for one in own]
    assert [row[1].one("a").attributes["href"] for row in rows] == [f"/players/{one}" for one in opponents]


def test_the_form_is_the_last_ten_results(tmp_path: Path) -> None:
    page = shown(PLAYER_PAGE, reader_of(season_of(14), tmp_path), "P05")
    letters = [link for fact in page.all("div", "form") for link in fact.all("a")]
    rows = page.table("Matches of")
    assert [link.attributes["href"] for link in letters] == [row[0].one("a").attributes["href"] for row in rows[-10:]]


@pytest.mark.parametrize("double", [False, True])
def test_head_to_head_adds_up_to_the_standings(double: bool, tmp_path: Path) -> None:
    season = season_of(6, double=double)
    row = next(row for row in season.standings() if row.player_id == "P04")
    duels = shown(PLAYER_PAGE, reader_of(season, tmp_path), "P04").table("Record of")
    assert len(duels) == 5
    records = [tuple(map(int, duel[3].text.split("-"))) for duel in duels]
    assert tuple(map(sum, zip(*records, strict=True))) == (row.wins, row.draws, row.losses)
    assert sum(int(duel[4].text) for duel in duels) == row.points
    assert all(len(duel[5].all("a")) == (2 if double else 1) for duel in duels)


def test_charts_tell_in_words_where_it_stands(tmp_path: Path) -> None:
    season = season_of(6)
    row = next(row for row in season.standings() if row.player_id == "P02")
    _, points, rank = shown(PLAYER_PAGE, reader_of(season, tmp_path), "P02").all("svg", "chart")
    best = season.standings()[0].points
    assert points.one("desc").text == f"{row.points} points after round 5; whoever leads the table has {best}."
    assert rank.one("desc").text.startswith(f"Rank {row.rank} of 6 after round 5;")


def test_its_rating_over_time_ends_with_that_of_the_table_and_has_its_interval(tmp_path: Path) -> None:
    reader = reader_of(season_of(6), tmp_path)
    report = reader.rate_players()
    assert report is not None
    rating = report.table.by_player()["P02"]
    page = shown(PLAYER_PAGE, reader, "P02")
    chart = page.all("svg", "chart")[0]
    assert chart.one("desc").text == (
        f"{round(rating.elo):+} Elo after round 5, with 95% between {round(rating.low):+} and {round(rating.high):+}."
    )
    assert len(chart.one("polygon", "band").attributes["points"].split()) == 2 * 5
    assert f"{round(rating.elo):+d}" in next(fact.text for fact in page.all("div") if fact.text.startswith("Rating"))


def test_what_it_wins_and_loses_with_adds_up_by_side_and_by_first_move(tmp_path: Path) -> None:
    season = season_of(8)
    row = next(row for row in season.standings() if row.player_id == "P03")
    rows = shown(PLAYER_PAGE, reader_of(season, tmp_path), "P03").table("Won, drawn and lost")
    told = {one[0].text: tuple(map(int, one[2].text.split("-"))) for one in rows}
    for kind in ("side", "first move"):
        counts = [count for name, count in told.items() if name.startswith(kind)]
        assert tuple(map(sum, zip(*counts, strict=True))) == (row.wins, row.draws, row.losses)
    first = [one.winner == "P03" for one in season.results.values() if one.players[0] == "P03" and one.winner]
    assert told["side A"][0] == sum(first)
    for one in rows:
        wins, draws, losses = told[one[0].text]
        picture = one[1].one("svg", "record")
        assert picture.attributes["aria-label"] == f"won {wins}, drawn {draws}, lost {losses}"
        wide = {part.attributes["class"]: float(part.attributes["width"]) for part in picture.all("rect")}
        assert sum(wide.values()) == pytest.approx(100, abs=0.1)
        assert wide.get("win", 0) == pytest.approx(100 * wins / (wins + draws + losses), abs=0.1)


def test_ratings_of_earlier_rounds_are_computed_once_and_anew_after_a_correction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rated: list[int] = []
    rate = rating_history._rate_rounds

    def rate_and_note(given: RatingInput, round_ids: Sequence[int]) -> rating_history.RatedRounds:
        rated.extend(round_ids)
        return rate(given, round_ids)

    monkeypatch.setattr(rating_history, "_rate_rounds", rate_and_note)
    season = season_of(6, 6)
    reader = reader_of(season, tmp_path)
    for player_id in ("P01", "P02"):
        shown(PLAYER_PAGE, reader, player_id)
    assert rated == [1, 2]
    play_on(season, 3)
    shown(PLAYER_PAGE, reader, "P01")
    assert rated == [1, 2, 3]
    given = RatingInput.from_state(season)
    reader.rating_history.rate_player("P01", given, 3, corrections=1)
    assert rated == [1, 2, 3, 1, 2, 3]


def test_the_rating_after_a_round_is_that_of_the_league_at_that_time(tmp_path: Path) -> None:
    whole = season_of(8)
    history = reader_of(whole, tmp_path).rating_history
    rated = history.rate_player("P03", RatingInput.from_state(whole), 7, corrections=0)
    assert [one.round_id for one in rated] == [*range(1, 8)]
    for one in rated:
        then = season_of(8, 4 * one.round_id)
        rating = fit_ratings(RatingInput.from_state(then).make_table()).by_player()["P03"]
        assert (one.elo, one.low, one.high) == (round(rating.elo), round(rating.low), round(rating.high))


def test_results_are_put_into_a_table_once_however_many_rounds_are_rated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    season = season_of(10)
    made: list[MatchResult] = []
    make = ResultRow.from_result

    def make_and_note(result: MatchResult, *, game: str) -> ResultRow | None:
        made.append(result)
        return make(result, game=game)

    monkeypatch.setattr(ResultRow, "from_result", make_and_note)
    reader_of(season, tmp_path).rating_history.rate_player("P01", RatingInput.from_state(season), 9, corrections=0)
    assert len(made) == len(season.results)


@pytest.mark.parametrize(
    ("rounds", "chosen"), [(0, []), (1, [1]), (3, [1, 2, 3]), (24, [*range(1, 25)]), (49, [*range(3, 49, 3), 49])]
)
def test_of_many_rounds_some_and_the_last_are_rated(rounds: int, chosen: list[int]) -> None:
    assert rating_history.choose_rounds(rounds, players=20) == chosen
    assert len(rating_history.choose_rounds(299, players=100)) <= rating_history.MOST_ROUNDS + 1
    assert len(rating_history.choose_rounds(299, players=300)) <= rating_history.MOST_ROUNDS_OF_MANY + 1


def test_a_player_before_its_first_round_has_a_page_without_charts(tmp_path: Path) -> None:
    for season in (season_of(4, 0), season_of(2, started=False)):
        page = shown(PLAYER_PAGE, reader_of(season, tmp_path), "P01")
        assert not page.all("svg", "chart")
        assert "Nothing is known before its first match is finished" in page.text


def test_a_technical_loss_says_how_it_came_and_what_to_try(tmp_path: Path) -> None:
    season = season_of(4, 0)
    pairing = season.schedule.rounds[0].pairings[0]
    one, other = pairing.players
    ends = {one: Termination.NORMAL, other: Termination.MOVE_TIMEOUT}
    result = MatchResult(pairing.match_id, 1, pairing.players, Outcome.TECHNICAL_LOSS, one, {}, ends)
    season.record_result(result, season.assigned_referees[pairing.match_id])
    season.note_deviations(other, ["camelCase in player_meta"])
    page = shown(PLAYER_PAGE, reader_of(season, tmp_path), other)
    assert "didn't answer a question in time" in page.text
    assert "league check URL" in page.text
    assert "Stop the league first" in page.text
    assert "camelCase in player_meta" in page.text
    assert "Technical losses" not in shown(PLAYER_PAGE, reader_of(season, tmp_path), one).text


def test_a_player_without_a_move_is_told_so_in_a_sentence(tmp_path: Path) -> None:
    season = season_of(2, 0)
    one, other = season.schedule.pairings[0].players
    ends = {one: Termination.NORMAL, other: Termination.MOVE_TIMEOUT}
    details = {"choices": {one: "even"}}
    season.record_result(MatchResult("R1M1", 1, (one, other), Outcome.TECHNICAL_LOSS, one, details, ends), "REF01")
    text = shown(PLAYER_PAGE, reader_of(season, tmp_path), other).text
    assert "it has made no move that counts" in text
    assert "From 0 moves" not in text


def filed(season: LeagueState, home: Path, match_id: str, *entries: dict[str, object]) -> Path:
    """A match's file with this said in it."""
    result, path = season.results[match_id], DataPaths(home).match_file(season.league_id, match_id)
    told = {"status": str(result.outcome), "winner_player_id": result.winner}
    transcript = [{"at": "2025-01-15T10:30:00.000Z", "method": "choose_parity", **entry} for entry in entries]
    file = {
        "match_id": match_id,
        "referee_id": season.assigned_referees[match_id],
        "result": told,
        "transcript": transcript,
    }
    write_json(path, file)
    return path


def test_how_fast_its_moves_are_and_what_failed_stands_there_though_no_match_was_lost(tmp_path: Path) -> None:
    season = season_of(4)
    one, other = season.results["R1M1"].players
    filed(
        season,
        tmp_path,
        "R1M1",
        {"direction": "sent", "player_id": one, "attempt": 1},
        {"direction": "failed", "player_id": one, "error_code": "E001", "latency_ms": 4000},
        {"direction": "sent", "player_id": one, "attempt": 2},
        {"direction": "received", "player_id": one, "latency_ms": 3200},
    )
    page = shown(PLAYER_PAGE, reader_of(season, tmp_path), one)
    ((code, words, times, where),) = page.table("Failed answers")
    assert (code.text, words.text, times.text) == ("E001", "no answer in time", "1")
    assert where.one("a").attributes["href"] == "/matches/R1M1"
    assert "3.2 s median, 3.2 s at most" in page.text
    assert "asked for a move 2 times, 1 of them again after a failure; its slowest answer is in R1M1" in page.text
    assert "What went wrong" not in shown(PLAYER_PAGE, reader_of(season, tmp_path), other).text


@pytest.mark.parametrize(("bound", "read"), [("MOST_FILES", 1), ("MOST_BYTES", None)])
def test_only_the_latest_files_and_so_many_bytes_are_read(
    bound: str, read: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    season = season_of(4)
    own = [match_id for match_id, result in season.results.items() if "P01" in result.players]
    failed: dict[str, object] = {"direction": "failed", "player_id": "P01", "error_code": "E001"}
    paths = [filed(season, tmp_path, match_id, failed) for match_id in own]
    monkeypatch.setattr(player_page, bound, read or paths[-1].stat().st_size)
    ((_, _, times, where),) = shown(PLAYER_PAGE, reader_of(season, tmp_path), "P01").table("Failed answers")
    assert (times.text, where.text) == ("1", own[-1])


def test_a_file_of_another_match_counts_for_nothing(tmp_path: Path) -> None:
    season = season_of(4)
    one = season.results["R1M1"].players[0]
    path = filed(season, tmp_path, "R1M1", {"direction": "failed", "player_id": one, "error_code": "E001"})
    assert "What went wrong" in shown(PLAYER_PAGE, reader_of(season, tmp_path), one).text
    path.write_bytes(path.read_bytes().replace(season.assigned_referees["R1M1"].encode(), b"REF09"))
    assert "What went wrong" not in shown(PLAYER_PAGE, reader_of(season, tmp_path), one).text


def test_an_unknown_player_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(PageNotFound, match=r"no player “P9”.*There are: P01, P02, P03"):
        PLAYER_PAGE.read_data(reader_of(season_of(3), tmp_path), "P9")
    with pytest.raises(PageNotFound):
        PLAYER_PAGE.read_data(reader_of(season_of(3), tmp_path), "REF01")


async def test_a_real_leagues_files_tell_how_a_player_plays(plan: PlanMaker, home: Path) -> None:
    manager, _ = await play_in_process(plan(players=3, referees=1, game="tic_tac_toe", seed="7"))
    season = manager.state
    page = shown(PLAYER_PAGE, reader_of(season, home), "P01")
    moves = {row[0].text: int(row[3].text) for row in page.table("Share of each move")}
    files = [
        orjson.loads(path.read_bytes()) for path in DataPaths(home).matches_folder(season.league_id).glob("R*.json")
    ]
    played = [str(step["P01"]) for file in files for step in file["moves"] if "P01" in step]
    assert moves == {move: played.count(move) for move in played}
    noted = page.table("Opponent model")
    assert {row[0].one("span", "id").text for row in noted} == {"P02", "P03"}


def test_what_is_not_over_stays_hidden(tmp_path: Path) -> None:
    season = season_of(4, 2)
    paths = DataPaths(tmp_path)
    running = season.schedule.rounds[1].pairings[0]
    player_id, opponent_id = running.players
    told = {"status": "WIN", "winner_player_id": player_id}
    file = {"match_id": running.match_id, "referee_id": season.assigned_referees[running.match_id], "result": told}
    write_json(paths.match_file(season.league_id, running.match_id), {**file, "moves": [{player_id: "a-secret-move"}]})
    noted = {"match_id": running.match_id, "league_id": season.league_id, "opponent_id": opponent_id, "outcome": "WIN"}
    name = season.roster.players()[player_id].display_name
    history = {"display_name": name, "matches": [{**noted, "opponent_moves": ["a-noted-move"]}]}
    write_json(paths.history_file(player_id), history)
    text = text_of(PLAYER_PAGE, reader_of(season, tmp_path), player_id)
    assert "a-secret-move" not in text
    assert "a-noted-move" not in text
    play_on(season, 100)
    assert "a-noted-move" in text_of(PLAYER_PAGE, reader_of(season, tmp_path), player_id)


@pytest.mark.parametrize(
    "history",
    [
        {"display_name": "Somebody else"},
        {"league_id": "another_league"},
        {"opponent_id": "P04"},
        {"opponent_moves": {"a-noted-move": "no list"}},
        {"outcome": 3},
    ],
)
def test_notes_of_another_league_or_player_and_spoilt_ones_are_left_out(
    history: dict[str, object], tmp_path: Path
) -> None:
    season = season_of(4)
    match = next(one for one in season.results.values() if set(one.players) == {"P01", "P02"})
    noted = {"match_id": match.match_id, "league_id": season.league_id, "opponent_id": "P02", "outcome": "WIN"}
    entry = {**noted, "opponent_moves": ["a-noted-move"], **history}
    whole = {"display_name": "Player 1", "matches": [None, {}, entry]}
    path = DataPaths(tmp_path).history_file("P01")
    write_json(path, whole | {name: value for name, value in history.items() if name == "display_name"})
    assert "a-noted-move" not in text_of(PLAYER_PAGE, reader_of(season, tmp_path), "P01")


def test_a_hundred_players_stay_within_bounds(tmp_path: Path) -> None:
    assert len(text_of(PLAYER_PAGE, reader_of(season_of(100), tmp_path), "P50")) < 170_000
