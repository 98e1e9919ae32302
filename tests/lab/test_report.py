"""What an evaluation says on paper: known numbers, known words, nothing that a browser or a reader would obey."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from agent_league.errors import UserError
from agent_league.games.registry import load_game
from agent_league.lab.charts import draw_outcomes, draw_progress, draw_times, format_seconds
from agent_league.lab.evaluation.criteria import CriterionVerdict, judge_criteria
from agent_league.lab.evaluation.evaluation_ratings import rate_evaluation
from agent_league.lab.evaluation.findings import has_failed, results_table, summary_sentence
from agent_league.lab.evaluation.model import (
    Conformance,
    Evaluation,
    GameEnding,
    MessageFault,
    OpponentSeries,
    PracticeGame,
    WinChances,
    longest_run,
    summarise_times,
)
from agent_league.lab.evaluation.opponents import chances_against_random
from agent_league.lab.evaluation.report import (
    REPORT_FILES,
    check_report_folder,
    choose_report_folder,
    render_html,
    render_json,
    render_markdown,
    write_report,
)
from agent_league.ratings.statistics import estimate_rate

NASTY = '<img src=x onerror="alert(1)">|`*a*` [b](http://c) www.d.e\n# f\x1b[31m\u202e&amp;'
SVG = "{http://www.w3.org/2000/svg}"
VALID, TIMEOUTS, TECHNICAL, WINS, GRACEFUL = range(5)


def games(won: int, drawn: int, lost: int, technical: int = 0, **more: Any) -> tuple[PracticeGame, ...]:
    endings = (
        [GameEnding.WIN] * won
        + [GameEnding.DRAW] * drawn
        + [GameEnding.LOSS] * lost
        + [GameEnding.TECHNICAL_LOSS] * technical
    )
    how = {GameEnding.TECHNICAL_LOSS: "move_timeout"}
    return tuple(
        PracticeGame(f"R1M{number}", number % 2, ending, how=how.get(ending, ""), seconds=(0.002, 0.004), **more)
        for number, ending in enumerate(endings, 1)
    )


def evaluation(*series: OpponentSeries, **more: Any) -> Evaluation:
    basics: dict[str, Any] = {
        "player": "Alpha",
        "location": "http://localhost:8101/mcp",
        "protocol": "league.v2",
        "game_type": "tic_tac_toe",
        "title": "Tic-Tac-Toe",
        "parameters": {},
        "chances": None,
        "has_amounts": False,
        "seed": "7",
        "earlier": "",
        "games_wanted": 100,
        "started_at": "2025-01-15T10:30:00Z",
        "seconds": 4.0,
        "playing_seconds": 2.0,
        "conformance": Conformance(passed=30),
    }
    return Evaluation(**{**basics, "series": series, **more})


def opponent(name: str, played: tuple[PracticeGame, ...] = (), cut_short_reason: str = "") -> OpponentSeries:
    """A series whose games are those of ten seeds, one after the other."""
    seeds = max(1, min(10, len(played) // 2))
    dealt = [replace(game, seed=str(place * seeds // len(played))) for place, game in enumerate(played)]
    return OpponentSeries(name, "", tuple(dealt), cut_short_reason)


STRONG = evaluation(opponent("random", games(61, 30, 9)), opponent("first", games(100, 0, 0)))


def test_a_row_has_the_outer_interval_and_an_exact_p_value_corrected_after_holm() -> None:
    mixed = games(2, 0, 0) * 4 + games(1, 0, 1) * 6  # Student's over blocks of two is 51.5 to 88.5
    row = results_table(evaluation(opponent("random", mixed), opponent("first", games(10, 0, 0)))).rows

    assert row[0] == ("random", "20", "14/0/6", "70.0% (48.1 - 88.5)", "0.12", "0.12")
    assert row[1] == ("first", "10", "10/0/0", "100.0% (72.2 - 100.0)", "0.0020", "0.0039")


def test_a_player_that_changes_its_ways_has_a_wide_interval() -> None:
    in_a_row = opponent("random", games(50, 0, 50)).score.win_rate  # it won the first half, and lost the second
    one_by_one = opponent("random", tuple(games(1, 0, 1) * 50)).score.win_rate

    assert one_by_one == estimate_rate(50, 100)
    assert in_a_row.high - 0.5 == pytest.approx(2.262 * (10 / 9 / 4 / 10) ** 0.5, abs=1e-3)
    assert list(opponent("random", games(50, 0, 50)).estimate_win_rates([100])) == [in_a_row]


def test_games_that_the_opponent_failed_count_for_nothing() -> None:
    walkovers = tuple(PracticeGame(f"W{number}", 0, GameEnding.WALKOVER) for number in range(5))
    series = opponent("earlier version", (*games(1, 0, 1), *walkovers))

    assert (len(series.valid_games), series.score.win_rate.value, series.p_value) == (2, 0.5, 1.0)


def test_an_opponent_that_was_not_there_is_a_remark() -> None:
    nobody = evaluation(opponent("earlier version", cut_short_reason="give one with --earlier"))

    assert results_table(nobody).rows == ()
    assert "earlier version: not played: give one with --earlier" in render_markdown(nobody)


def test_a_player_that_does_all_that_is_asked_passes() -> None:
    assert [one.verdict for one in judge_criteria(STRONG)] == [CriterionVerdict.PASS] * 5
    assert not has_failed(judge_criteria(STRONG))
    assert summary_sentence(STRONG) == "5 of 5 criteria fulfilled, 0 not."


@pytest.mark.parametrize(
    ("won", "verdict"), [(60, CriterionVerdict.FAIL), (61, CriterionVerdict.PASS)], ids=["exactly 60%", "more than 60%"]
)
def test_more_than_60_percent_means_more(won: int, verdict: CriterionVerdict) -> None:
    found = judge_criteria(evaluation(opponent("random", games(won, 0, 100 - won))))[WINS]

    assert found.verdict is verdict
    assert found.note == "The interval includes 60%: play more games to be sure."


def test_what_is_sure_has_no_note() -> None:
    assert not judge_criteria(evaluation(opponent("random", games(95, 0, 5))))[WINS].note


def test_fewer_than_100_games_decide_nothing() -> None:
    assert judge_criteria(evaluation(opponent("random", games(99, 0, 0))))[WINS].verdict is CriterionVerdict.NOT_JUDGED


def test_in_a_game_of_luck_the_mark_is_shown_with_what_chance_gives() -> None:
    chances = WinChances(0.25, 0.25, alike=True, single=True)
    lucky = judge_criteria(evaluation(opponent("random", games(24, 50, 26)), chances=chances))[WINS]

    assert lucky.verdict is CriterionVerdict.NOT_JUDGED
    assert "24 of 100 games won: 24.0%" in lucky.found
    assert "No skill can reach this mark" in lucky.note
    assert "to win 61 of 100 has a probability of 2.9e-14" in lucky.note


@pytest.mark.parametrize(
    ("chances", "note"),
    [
        (WinChances(0.2, 0.278, alike=False, single=True), "the most that can be reached is 27.8%."),
        (WinChances(0.2, 0.61, alike=False, single=True), ""),
        (WinChances(0.2, 0.278, alike=False, single=False), ""),
        (WinChances(0.25, 0.25, alike=True, single=False), "A match of several such games changes nothing about that."),
    ],
)
def test_what_cannot_be_reached_is_not_judged(chances: WinChances, note: str) -> None:
    found = judge_criteria(evaluation(opponent("random", games(24, 50, 26)), chances=chances))[WINS]

    assert found.verdict is (CriterionVerdict.NOT_JUDGED if note else CriterionVerdict.FAIL)
    assert found.note.endswith(note)


@pytest.mark.parametrize(
    ("game", "parameters", "least", "most", "alike"),
    [
        ("even_odd", {}, 1 / 4, 1 / 4, True),
        ("even_odd", {"repeat": 9}, 1 / 4, 1 / 4, True),
        ("even_odd", {"repeat": None}, 1 / 4, 1 / 4, True),
        ("even_odd", {"max_number": 9}, 2 / 9, 5 / 18, False),
        ("even_odd", {"max_number": 49_999}, 24_999 / 99_998, 25_000 / 99_998, False),
        ("odds_and_evens", {}, 1 / 2, 1 / 2, True),
        ("rock_paper_scissors", {}, 1 / 3, 1 / 3, True),
        ("prisoners_dilemma", {}, 0, 1 / 2, False),
    ],
)
def test_what_can_be_reached_against_random_is_counted(
    game: str, parameters: dict[str, Any], least: float, most: float, alike: bool
) -> None:
    played = load_game(game).with_parameters(parameters)
    single = parameters.get("repeat", played.parameters.get("repeat")) is None and "first_to" not in played.parameters

    assert chances_against_random(played) == WinChances(least, most, alike, single)


@pytest.mark.parametrize(
    ("game", "parameters"),
    [
        ("tic_tac_toe", {}),
        ("kuhn_poker", {}),
        ("even_odd", {"max_number": 50_001}),
        ("even_odd", {"max_number": 10**6}),
    ],
)
def test_what_cannot_be_counted_in_good_time_is_not(game: str, parameters: dict[str, int]) -> None:
    assert chances_against_random(load_game(game).with_parameters(parameters)) is None


@pytest.mark.parametrize(
    ("good", "bad", "verdict"),
    [
        (50, 0, CriterionVerdict.PASS),
        (49, 0, CriterionVerdict.NOT_JUDGED),
        (400, 1, CriterionVerdict.FAIL),
        (3, 1, CriterionVerdict.FAIL),
    ],
)
def test_one_failure_is_one_too_many(good: int, bad: int, verdict: CriterionVerdict) -> None:
    late = tuple(
        PracticeGame(f"L{number}", 0, GameEnding.TECHNICAL_LOSS, how="move_timeout", timeouts=1)
        for number in range(bad)
    )
    found = judge_criteria(evaluation(opponent("random", (*games(good, 0, 0), *late))))

    assert found[TIMEOUTS].verdict is found[TECHNICAL].verdict is verdict
    assert found[TIMEOUTS].found == f"{bad} timeouts in {good + bad} games; the longest run without one: {good}"


def test_a_run_ends_where_something_is_bad() -> None:
    assert longest_run([True, True, False, True]) == 2
    assert longest_run([]) == 0


def test_one_bad_message_among_many_fails_and_is_never_rounded_away() -> None:
    bad = PracticeGame(
        "M", 0, GameEnding.WIN, seconds=(0.1,), faults=(MessageFault("choose_parity", "E003: no timestamp"),)
    )
    found = judge_criteria(evaluation(opponent("random", (*games(1500, 0, 0), bad))))[VALID]

    assert found.verdict is CriterionVerdict.FAIL
    assert "3000 of 3001" in found.found
    assert "99.9%" in found.found


def test_a_failed_step_with_bad_input_fails_the_player() -> None:
    broken = Conformance(passed=3, failed=(MessageFault("a body that is not JSON is refused", "HTTP 500"),))
    player = evaluation(opponent("random", games(1, 0, 0)), conformance=broken)

    assert judge_criteria(player)[GRACEFUL].verdict is CriterionVerdict.FAIL
    assert "HTTP 500" in render_markdown(player)


def test_times_have_a_median_and_a_percentile_by_nearest_rank() -> None:
    times = summarise_times([number / 1000 for number in range(100, 0, -1)])

    assert times is not None
    assert (times.median, times.late, times.longest) == (0.0505, 0.095, 0.1)
    assert summarise_times([]) is None


@pytest.mark.parametrize(
    ("seconds", "words"), [(31, "31 s"), (0.9996, "1 s"), (0.0123, "12.3 ms"), (0.00042, "420 µs"), (0, "0 µs")]
)
def test_a_time_is_written_as_people_say_it(seconds: float, words: str) -> None:
    assert format_seconds(seconds) == words


@pytest.mark.parametrize("plot", [draw_outcomes, draw_progress, draw_times])
@pytest.mark.parametrize("found", [STRONG, evaluation()], ids=["played", "nothing played"])
def test_a_plot_is_a_whole_svg_that_is_told_in_words_too(plot: Any, found: Evaluation) -> None:
    root = ET.fromstring(plot(found))
    title, desc = root.find(f"{SVG}title"), root.find(f"{SVG}desc")

    assert root.get("role") == "img"
    assert title is not None
    assert title.text
    assert desc is not None
    assert desc.text
    assert "nan" not in plot(found)


def test_a_bar_is_as_long_as_its_share() -> None:
    root = ET.fromstring(draw_outcomes(evaluation(opponent("random", games(28, 52, 20)))))
    bars = {
        one.get("class"): float(one.get("width", 0)) for one in root.iter(f"{SVG}rect") if one.get("height") == "24"
    }

    assert bars == {"win": 70.0, "draw": 130.0, "loss": 50.0}  # of 250
    assert "28 / 52 / 20" in "".join(root.itertext())


def test_the_curve_ends_at_the_share_and_has_no_more_points_than_it_needs() -> None:
    root = ET.fromstring(draw_progress(evaluation(opponent("random", games(2500, 0, 2500)))))
    (curve,) = root.iter(f"{SVG}polyline")
    points = [tuple(map(float, point.split(","))) for point in curve.get("points", "").split()]

    assert len(points) <= 202
    assert points[0][1] == 72.0  # all won after the first game: the panel's upper edge
    assert points[-1][1] == 72.0 + 140 / 2


def test_the_histogram_counts_every_answer_once() -> None:
    seconds = (0.0005, 0.0009, 0.005, 0.05, 0.05)
    root = ET.fromstring(
        draw_times(evaluation(opponent("random", (PracticeGame("M", 0, GameEnding.WIN, seconds=seconds),))))
    )
    bars = [float(one.get("height", 0)) for one in root.iter(f"{SVG}rect") if one.get("class") == "win"]

    assert sorted(round(bar / 170 * 2) for bar in bars) == [1, 1, 1, 2]


class Tags(HTMLParser):
    """The tags and attributes that a browser sees."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def test_a_page_needs_nothing_from_elsewhere_and_obeys_nobody() -> None:
    fault = MessageFault("choose_parity", NASTY)
    bad = PracticeGame("M", 0, GameEnding.WIN, seconds=(0.1,), faults=(fault,))
    player = evaluation(
        OpponentSeries("random", NASTY, (bad,), cut_short_reason=NASTY),
        player=NASTY,
        location=NASTY,
        earlier=NASTY,
        title=NASTY,
        remarks=(NASTY,),
        conformance=Conformance(failed=(fault,)),
    )
    page, text = render_html(player), render_markdown(player)
    tags = Tags(page).seen

    assert not {"script", "img", "link", "iframe", "a", "object"} & {tag for tag, _ in tags}
    assert not [
        name for _, attributes in tags for name in attributes if name.startswith("on") or name in ("src", "href")
    ]
    assert ("meta", "default-src 'none'; style-src 'unsafe-inline'") in [
        (tag, attributes.get("content")) for tag, attributes in tags
    ]
    assert "prefers-color-scheme: dark" in page
    assert page.count("<figure><svg") == 3
    for written in (page, text):
        assert "\x1b" not in written
        assert "\u202e" not in written
        assert "<img" not in written


def test_somebody_elses_words_make_no_markdown() -> None:
    text = render_markdown(
        evaluation(opponent("random", games(1, 0, 0)), player=NASTY, location=NASTY, remarks=(NASTY,))
    )
    rows = [line for line in text.splitlines() if line.startswith("|")]

    assert not re.search(r"(?<!\\)[`*\[]", re.sub(r"!\[[^]]*]\([a-z-]+\.svg\)", "", text))
    assert "http\\://c" in text
    assert "www\\.d" in text
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows if "Where" in row} == {3}
    assert [line for line in text.splitlines() if line.startswith("# ")] == [text.splitlines()[0]]
    assert "&amp;amp;" in text


def test_json_holds_all_numbers() -> None:
    found = json.loads(render_json(evaluation(opponent("random", games(14, 0, 5, 1)))))
    (random,) = found["opponents"]

    assert (random["wins"], random["losses"], random["technical_losses"]) == (14, 5, {"move_timeout": 1})
    assert random["win_rate"]["value"] == 0.7
    assert random["p_value"] == pytest.approx(0.1153, abs=1e-4)
    assert len(random["played"]) == 20
    assert found["response_seconds"]["median"] == pytest.approx(0.003)
    assert [one["verdict"] for one in found["criteria"]][VALID] == "PASS"
    assert found["ok"] is False  # one technical loss, and no 50 games without


def test_a_single_payoff_has_no_interval() -> None:
    paid = (PracticeGame("M", 0, GameEnding.WIN, payoff=3.0),)
    found = evaluation(opponent("random", paid), has_amounts=True)

    assert results_table(found).rows[0][-1] == "3"
    assert json.loads(render_json(found))["opponents"][0]["payoff"] == {"value": 3.0, "low": None, "high": None}


def test_a_report_is_written_once_and_never_over_another(tmp_path: Path) -> None:
    folder = choose_report_folder(STRONG.player, STRONG.started_at, tmp_path)
    written = write_report(STRONG, folder)

    assert folder.name == "Alpha-20250115T103000Z"
    assert sorted(path.name for path in folder.iterdir()) == sorted(REPORT_FILES)
    assert all(path.read_text(encoding="utf-8") for path in written)
    with pytest.raises(UserError, match=r"evaluation.md.* is there already"):
        check_report_folder(folder)
    with pytest.raises(FileExistsError):
        write_report(STRONG, folder)
    assert choose_report_folder(STRONG.player, STRONG.started_at, tmp_path).name == "Alpha-20250115T103000Z-2"
    for name in re.findall(r"!\[[^]]*]\(([^)]*)\)", (folder / "evaluation.md").read_text(encoding="utf-8")):
        assert (folder / name).is_file()


@pytest.mark.parametrize(
    ("player", "name"), [("../../etc", "etc"), (NASTY, "img-src-x-onerror"), ("...", "player"), ("x" * 99, "x" * 40)]
)
def test_a_players_name_is_no_path(player: str, name: str, tmp_path: Path) -> None:
    folder = choose_report_folder(player, "2025-01-15T10:30:00Z", tmp_path)

    assert folder.parent == tmp_path
    assert folder.name.startswith(name)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "report").touch()
    with pytest.raises(UserError, match="expected a folder"):
        check_report_folder(tmp_path / "report")


def test_the_player_is_rated_beside_its_opponents_once_more_without_technical_losses() -> None:
    found = evaluation(opponent("random", games(30, 4, 6, technical=20)), opponent("first", games(40, 0, 20)))
    told = json.loads(render_json(found))["ratings"]

    assert [one["player_id"] for one in told["ratings"]] == ["Alpha", "random", "first"]
    without = {one["player_id"]: one for one in told["without_technical_losses"]["ratings"]}
    assert without["Alpha"]["games"] == 100
    assert without["Alpha"]["elo"] > told["ratings"][0]["elo"] + 50
    for text in (render_markdown(found), render_html(found)):
        assert "Without its technical losses Alpha would be at +" in text
        assert "The first seat of Tic-Tac-Toe is" in text
    assert json.loads(render_json(evaluation()))["ratings"] is None
    assert "Ratings</h2>" not in render_html(evaluation())


def test_a_rating_has_a_wide_interval_where_the_player_changes_its_ways() -> None:
    def width(played: tuple[PracticeGame, ...]) -> float:
        found = rate_evaluation(evaluation(opponent("random", played), game_type="even_odd"))
        assert found
        return found.table.ratings[0].high - found.table.ratings[0].low

    assert width(games(50, 0, 50)) > 2 * width(tuple(games(1, 0, 1) * 50))
