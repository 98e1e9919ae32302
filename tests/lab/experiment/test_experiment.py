"""An experiment in its folder: the same rows however it is played, killed, cut and put together."""

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent_league.errors import ConfigError, UserError
from agent_league.lab import Experiment, ExperimentResults
from agent_league.lab.experiment import running
from agent_league.lab.experiment.engines import ProcessEngine
from agent_league.lab.experiment.merge import merge_shards
from agent_league.lab.experiment.pieces import Piece, PieceResult
from agent_league.lab.experiment.plan import Shard
from agent_league.lab.experiment.running import RunProgress
from tests.lab.experiment.conftest import SMALL, WriteFile

STOPPING = SMALL.replace("seeds = 12", "seeds = 60") + "stop = { elo1 = 200 }\n"
NEW_COLUMNS = ("first_illegal", "second_illegal", "first_late", "second_late")


class DyingEngine:
    """Plays some pieces and then dies, as a process that is killed."""

    def __init__(self, pieces: int) -> None:
        self._pieces = pieces

    def run(self, pieces: Iterable[Piece]) -> Iterator[PieceResult]:
        for number, result in enumerate(ProcessEngine().run(pieces)):
            if number == self._pieces:
                raise KeyboardInterrupt
            yield result


class BackwardEngine:
    """Takes many pieces at once and returns the last of them first."""

    def run(self, pieces: Iterable[Piece]) -> Iterator[PieceResult]:
        for piece in reversed(list(pieces)):
            yield piece.run()


def read_csv(results: ExperimentResults) -> bytes:
    return results.write_csv().read_bytes()


@pytest.mark.parametrize("name", ["games", "players", "seeds"])
def test_a_text_in_place_of_a_list_is_not_taken_letter_by_letter(name: str) -> None:
    settings: dict[str, Any] = {"games": ["nim"], "players": ["random", "markov"], "seeds": 2, name: "nim"}
    with pytest.raises(ConfigError, match=f'{name}: should be .*list.*found "nim"'):
        Experiment(**settings)


def test_rows_are_the_same_in_any_order_and_after_interruptions(small_file: Path, tmp_path: Path) -> None:
    experiment = Experiment.from_file(small_file)
    expected = read_csv(experiment.run(tmp_path / "plain"))
    assert expected.count(b"\n") == 1 + 2 * 3 * 12 * 4
    assert read_csv(experiment.run(tmp_path / "backward", engine=BackwardEngine())) == expected
    for pieces in (1, 4):
        with pytest.raises(KeyboardInterrupt):
            experiment.run(tmp_path / "killed", engine=DyingEngine(pieces))
    begun = sum(1 for _ in ExperimentResults(tmp_path / "killed").rows())
    assert 0 < begun < 288
    assert read_csv(experiment.run(tmp_path / "killed")) == expected


def test_progress_counts_what_was_there_already(small_file: Path, tmp_path: Path) -> None:
    experiment = Experiment.from_file(small_file)
    with pytest.raises(KeyboardInterrupt):
        experiment.run(tmp_path / "out", engine=DyingEngine(3))
    seen: list[RunProgress] = []
    experiment.run(tmp_path / "out", watch=seen.append)
    assert seen[0].games > 3 * 4
    assert (seen[-1].games, seen[-1].total) == (288, 288)
    seen.clear()
    experiment.run(tmp_path / "out", watch=seen.append)
    assert not seen


@pytest.mark.parametrize("text", [SMALL, STOPPING], ids=["all", "stopped"])
def test_shards_make_the_whole(write_file: WriteFile, tmp_path: Path, text: str) -> None:
    experiment = Experiment.from_file(write_file(text))
    expected = read_csv(experiment.run(tmp_path / "whole"))
    folders = [tmp_path / f"part{index}" for index in (2, 3, 1)]
    for folder, index in zip(folders, (2, 3, 1), strict=True):
        experiment.run(folder, shard=Shard(index, 3))
    (tmp_path / "mine.py").unlink()  # shards are merged where players aren't
    merged = merge_shards(folders, tmp_path / "merged")
    assert read_csv(merged) == expected
    assert merged.summary.is_finished


def test_shards_that_dont_make_the_whole_are_refused_by_name(write_file: WriteFile, tmp_path: Path) -> None:
    experiment = Experiment.from_file(write_file(SMALL))
    one, two, again, begun, other = (tmp_path / name for name in ("one", "two", "again", "begun", "other"))
    experiment.run(one, shard=Shard(1, 2))
    experiment.run(two, shard=Shard(2, 2))
    experiment.run(again, shard=Shard(1, 2))
    with pytest.raises(KeyboardInterrupt):
        experiment.run(begun, shard=Shard(2, 2), engine=DyingEngine(1))
    Experiment.from_file(write_file(SMALL.replace("12", "13"))).run(other, shard=Shard(2, 2))
    out = tmp_path / "merged"
    for folders, problem in (
        ([one], "shard 2/2 is missing"),
        ([one, again], "again and .*one both hold shard 1/2"),
        ([one, two, one], "one is named twice; name each folder once"),
        ([one, begun], "begun isn't finished: 35 of 36 meetings are missing, the first: tic_tac_toe: "),
        ([one, other], "other is of another experiment than .*one: their hashes differ"),
        ([one, tmp_path], "holds no"),
    ):
        with pytest.raises(UserError, match=problem):
            merge_shards(folders, out)
    assert not (out / "games.sqlite").exists()
    merge_shards([one, two], out)
    with pytest.raises(UserError, match="holds games already"):
        merge_shards([one, two], out)


def test_a_folder_of_another_experiment_is_refused(write_file: WriteFile, tmp_path: Path) -> None:
    out = tmp_path / "out"
    Experiment.from_file(write_file(SMALL)).run(out)
    for text, what in ((SMALL.replace("12", "13"), "seeds"), (SMALL.replace("first_", "last_"), "players")):
        with pytest.raises(UserError, match=f"another experiment, 'three of them'. What differs: {what}. Name another"):
            Experiment.from_file(write_file(text)).run(out)
    (tmp_path / "mine.py").write_text("def choose(observation):\n    return observation.legal_moves[0]\n")
    with pytest.raises(UserError, match="What differs: the content of a player's Python file"):
        Experiment.from_file(write_file(SMALL)).run(out)
    with pytest.raises(UserError, match="expected a folder, found a file"):
        Experiment.from_file(write_file(SMALL)).run(tmp_path / "mine.py")
    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / "report.md").write_text("mine")
    with pytest.raises(UserError, match=r"report.md is there, but no experiment.toml"):
        Experiment.from_file(write_file(SMALL)).run(strange)
    changed = Experiment.from_file(write_file(SMALL))
    changed.run(tmp_path / "whole")
    with pytest.raises(UserError, match="holds the whole experiment; shard 1/2 needs another folder"):
        changed.run(tmp_path / "whole", shard=Shard(1, 2))
    moves = [row.winner for row in changed.run(tmp_path / "whole").rows() if "mine.py" in (row.first, row.second)]
    (tmp_path / "mine.py").write_text("def choose(observation):\n    return observation.legal_moves[-1]\n")
    before = [row.winner for row in ExperimentResults(out).rows() if "mine.py" in (row.first, row.second)]
    assert moves != before  # a file that was changed is read again


def test_a_folder_without_a_game_is_free_for_another_experiment(write_file: WriteFile, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        Experiment.from_file(write_file(SMALL)).run(out, engine=DyingEngine(0))
    assert (out / "games.sqlite").exists()
    other = Experiment.from_file(write_file(SMALL.replace("first_", "last_")))
    assert sum(1 for _ in other.run(out).rows()) == 288
    assert ExperimentResults(out).resolved.content_hash == other.resolved.content_hash


def test_a_new_name_and_ranking_stand_in_the_folder_beside_the_versions_it_was_begun_with(
    write_file: WriteFile, tmp_path: Path
) -> None:
    written = tmp_path / "out" / "experiment.toml"
    Experiment.from_file(write_file(SMALL)).run(tmp_path / "out")
    begun = written.read_text()
    written.write_text(begun.replace('python = "', 'python = "0.'))
    renamed = SMALL.replace("three of them", "renamed") + 'ranking = "nash"\n'
    Experiment.from_file(write_file(renamed)).run(tmp_path / "out")
    wanted = begun.replace("three of them", "renamed").replace('"elo"', '"nash"').replace('python = "', 'python = "0.')
    assert written.read_text() == wanted
    assert ExperimentResults(tmp_path / "out").resolved.file.name == "renamed"


def test_the_time_left_goes_by_the_games_and_not_by_the_start_of_the_engine(
    small_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(running, "time", SimpleNamespace(monotonic=lambda: clock.now))

    class SlowToStart:
        def run(self, pieces: Iterable[Piece]) -> Iterator[PieceResult]:
            clock.now += 3600
            for result in ProcessEngine().run(pieces):
                clock.now += 0.75
                yield replace(result, seconds=0.75)

    seen: list[RunProgress] = []
    Experiment.from_file(small_file).run(tmp_path / "out", watch=seen.append, engine=SlowToStart())
    assert [one.seconds_left for one in seen[:2]] == [None, None], "after so little it would be a guess"
    told = [one.seconds_left for one in seen[2:]]
    assert all(left is not None and left <= 0.75 * 72 for left in told)
    assert told[-1] == 0


def test_who_fails_is_told_while_the_games_are_played(write_file: WriteFile, tmp_path: Path) -> None:
    path = write_file(SMALL)
    (tmp_path / "mine.py").write_text("def choose(observation):\n    raise OSError('no model there')\n")
    told: list[tuple[int, str]] = []
    seen: list[RunProgress] = []
    results = Experiment.from_file(path).run(
        tmp_path / "out", watch=seen.append, remark=lambda sentence: told.append((len(seen), sentence))
    )
    ((when, sentence),) = told
    assert when < len(seen)
    assert sentence.startswith("mine.py: the first fault in ")
    assert "no model there" in sentence
    assert sentence in (results.write_report()[0]).read_text().replace("\\", "")


def test_a_stopping_rule_ends_pairs_that_are_clear_and_changes_with_no_order(
    write_file: WriteFile, tmp_path: Path
) -> None:
    experiment = Experiment.from_file(write_file(STOPPING))
    seen: list[RunProgress] = []
    results = experiment.run(tmp_path / "plain", watch=seen.append)
    expected = read_csv(results)
    games = expected.count(b"\n") - 1
    assert games < 2 * 3 * 60 * 4
    assert (seen[-1].games, seen[-1].total) == (games, games), "what the rule leaves out isn't counted"
    assert all(one.games <= one.total for one in seen)
    assert seen[0].total == 2 * 3 * 60 * 4
    assert replace(seen[0], seconds_left=50.0).time_left == "at most 50 s left"
    assert read_csv(experiment.run(tmp_path / "backward", engine=BackwardEngine())) == expected
    assert read_csv(experiment.run(tmp_path / "plain")) == expected
    assert results.summary.played == games


def test_the_first_player_alone_meets_the_others_with_the_rows_of_all_pairs(
    write_file: WriteFile, tmp_path: Path
) -> None:
    everybody = Experiment.from_file(write_file(SMALL)).run(tmp_path / "all")
    gauntlet = Experiment.from_file(write_file('pairs = "first"\n' + SMALL))
    with pytest.raises(UserError, match="What differs: pairs"):
        gauntlet.run(tmp_path / "all")
    first = gauntlet.run(tmp_path / "first")
    expected = [line for line in read_csv(everybody).splitlines() if b"random" in line or line.startswith(b"game")]
    assert read_csv(first).splitlines() == expected
    assert len(expected) == 1 + 2 * 2 * 12 * 4
    again = Experiment.from_file(tmp_path / "first" / "experiment.toml")
    assert again.resolved.content_hash == gauntlet.resolved.content_hash
    games = {row.name: row.total.tally.games for row in first.summary.overall.rows}
    assert games == {"random": 192, "first_legal": 96, "mine.py": 96}
    assert {path.name for path in first.write_report()} >= {"report.html", "pairs-1.svg"}


def test_rows_can_be_read_by_anybody_who_reads_sqlite(small_file: Path, tmp_path: Path) -> None:
    results = Experiment.from_file(small_file).run(tmp_path / "out")
    with sqlite3.connect(tmp_path / "out" / "games.sqlite") as database:
        database.row_factory = sqlite3.Row
        first = dict(database.execute("SELECT * FROM games LIMIT 1").fetchone())
    database.close()
    row = next(results.rows())
    assert {name: getattr(row, name) for name in first} == first
    assert (first["game"], first["seed"], first["round"], first["first"]) == ("tic_tac_toe", "1", 1, "random")
    assert first["first_seconds"] > 0


def forget_new_columns(folder: Path) -> None:
    """Makes of a database one that an older version has made."""
    with sqlite3.connect(folder / "games.sqlite") as database:
        (view,) = database.execute("SELECT sql FROM sqlite_master WHERE name = 'games'").fetchone()
        database.execute("DROP VIEW games")
        for name in NEW_COLUMNS:
            database.execute(f"ALTER TABLE game_rows DROP COLUMN {name}")
            view = view.replace(f", r.{name} AS {name}", "")
        database.execute(view)
    database.close()


def test_a_folder_of_an_older_version_goes_on_and_merges(small_file: Path, tmp_path: Path) -> None:
    experiment = Experiment.from_file(small_file)
    expected = read_csv(experiment.run(tmp_path / "whole"))
    folders = [tmp_path / f"shard{number}" for number in (1, 2)]
    for number, folder in enumerate(folders, start=1):
        experiment.run(folder, shard=Shard(number, 2))
    forget_new_columns(folders[0])
    forget_new_columns(tmp_path / "whole")
    assert read_csv(merge_shards(folders, tmp_path / "merged")) == expected
    with sqlite3.connect(tmp_path / "whole" / "games.sqlite") as database:
        database.execute("DELETE FROM game_rows WHERE meeting = 3")
    database.close()
    again = experiment.run(tmp_path / "whole")
    assert read_csv(again) == expected
    assert {row.first_illegal for row in again.rows()} == {None}


def test_scores_ratings_and_learning_are_added_up(small_file: Path, tmp_path: Path) -> None:
    results = Experiment.from_file(small_file).run(tmp_path / "out")
    rows = list(results.rows())
    summary = results.summary
    nim = summary.games[1]
    for line in nim.rows:
        won = sum(
            row.winner == ("first" if row.first == line.name else "second")
            for row in rows
            if row.game == "short nim" and line.name in (row.first, row.second)
        )
        assert (line.total.tally.games, line.total.tally.wins) == (96, won)
    assert summary.overall.board.games == summary.played == len(rows) == 288
    assert {rating.player_id for rating in summary.overall.ratings.table.ratings} == {  # type: ignore[union-attr]
        "random",
        "first_legal",
        "mine.py",
    }
    assert [at for at, _ in nim.curves["random"]] == [1, 3]
    assert all(cost.timed_games and cost.tokens is None for cost in summary.costs)
    assert "mine.py" in results._repr_markdown_()


def test_amounts_are_added_up_where_they_count(tmp_path: Path) -> None:
    results = Experiment(
        games=[{"game": "prisoners_dilemma", "parameters": {"repeat": 4}}],
        players=["tit_for_tat", "always_defect"],
        seeds=["a", "b", "c"],
    ).run(tmp_path / "out")
    payoffs = [row.first_return if row.first == "always_defect" else row.second_return for row in results.rows()]
    best = results.summary.games[0].rows[0]
    assert best.name == "always_defect"
    assert best.total.mean_payoff is not None
    assert best.total.mean_payoff.value == pytest.approx(sum(payoffs) / len(payoffs))


def test_the_report_has_all_its_files_and_escapes_names(write_file: WriteFile, tmp_path: Path) -> None:
    text = SMALL.replace('"mine.py:choose"', '{ player = "mine.py:choose", name = "<b>|x" }')
    results = Experiment.from_file(write_file(text)).run(tmp_path / "out")
    written = {path.name for path in results.write_report()}
    assert written >= {
        "report.md",
        "report.html",
        "pairs.csv",
        "ratings-1.svg",
        "pairs-3.svg",
        "learning-2.svg",
        "cost.svg",
    }
    page = (tmp_path / "out" / "report.html").read_text()
    assert "&lt;b&gt;|x" in page
    assert "<b>|x" not in page
    assert "<b>" not in (tmp_path / "out" / "report.md").read_text()
    pairs = (tmp_path / "out" / "pairs.csv").read_text().splitlines()
    assert len(pairs) == 1 + 2 * 3 * 2
    assert results.resolved.content_hash in page
