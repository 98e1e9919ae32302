"""`league export`: a league for people, for spreadsheets and for programs, equal to the store."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from agent_league.cli import export
from agent_league.model.tables import disarm_formulas
from agent_league.ratings.tables import list_rating_rows
from agent_league.web.export import TABLES
from tests.cli.leagues import keep, said

NAMES = ("=HYPERLINK(1)", "+1", "-1", "@SUM(A1)", 'a "quoted", name', "Ünï \u2603", "\uff1d1", "a;=1+1", 'b, "=1')


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_document_is_what_the_store_has(tmp_path: Path) -> None:
    home = tmp_path / "SHARED"
    season = keep(home, 5)
    told = said("export", "--home", home, "--json").json
    first = ["schema_version", "exported_at", "league", "standings", "ratings", "matches", "agents"]
    assert list(told) == [*first, "rounds", "groups", "audit", "ladder", "models"], "new ones are added at the end"
    assert told["league"]["league_id"] == season.league_id
    assert (told["league"]["phase"], told["league"]["matches_played"]) == ("COMPLETED", 10)
    standings = [{name: row[name] for name in row if name != "technical_losses"} for row in told["standings"]]
    assert standings == [row.to_json_with_tiebreaks() for row in season.standings()]
    assert [list(row["tiebreaks"]) for row in standings] == [["wins", "head_to_head", "draws"]] * 5
    for match in told["matches"]:
        result = season.results[match["match_id"]]
        assert (match["status"], match["winner"]) == (result.outcome, result.winner)
        assert match["details"] == dict(result.details)
        assert match["reason"] == season.get_pairing(match["match_id"]).reason
        assert match["points"] == {player: season.scoring.points_for(result, player) for player in result.players}
    assert [round_["byes"] for round_ in told["rounds"]] == [dict(one.byes) for one in season.schedule.rounds]
    assert [agent["agent_id"] for agent in told["agents"]] == [member.agent_id for member in season.roster]
    assert not {"token_sha256", "signing_key", "key_sha256"} & set(json.dumps(told).split('"'))


def test_the_tables_are_the_document(tmp_path: Path) -> None:
    home, folder = tmp_path / "SHARED", tmp_path / "csv"
    keep(home, 5, 7, names=NAMES)
    done = said("export", "--home", home, "--csv", folder, "--json-file", tmp_path / "league.json")
    assert done.code == 0
    assert not done.out
    told = json.loads((tmp_path / "league.json").read_text(encoding="utf-8"))
    tables = {
        **told,
        "ratings": list_rating_rows(
            told["ratings"], {row["player_id"]: row["display_name"] for row in told["standings"]}
        ),
    }
    for name, columns in TABLES.items():
        rows = read_csv((folder / f"{name}.csv").read_text(encoding="utf-8"))
        further = ["head_to_head"] if name == "standings" else []
        assert [list(row) for row in rows] == [[*columns, *further]] * len(tables[name])
        for row, known in zip(rows, tables[name], strict=True):
            for column in [name for name in columns if not isinstance(known.get(name, []), list)]:
                value: Any = known[column]
                assert row[column] == (
                    "" if value is None else disarm_formulas(value) if isinstance(value, str) else str(value)
                )
    for row, match in zip(read_csv((folder / "matches.csv").read_text()), told["matches"], strict=True):
        for side in "ab":
            player = match[f"player_{side}"]
            assert row[f"points_{side}"] == str(match["points"].get(player, ""))
            assert row[f"termination_{side}"] == match["terminations"].get(player, "")
    for row, agent in zip(read_csv((folder / "agents.csv").read_text()), told["agents"], strict=True):
        assert row["game_types"] == " ".join(agent["game_types"])
        assert row["tolerated"] == "; ".join(agent["tolerated"])
    statuses = [match["status"] for match in told["matches"]]
    assert statuses.count("PENDING") + statuses.count("PLAYING") == 3


def test_a_name_is_no_formula(tmp_path: Path) -> None:
    home = tmp_path / "SHARED"
    keep(home, len(NAMES), names=NAMES)
    rows = read_csv(said("export", "--home", home, "--csv", "-").out)
    shown = {row["player_id"]: row["display_name"] for row in rows}
    assert list(dict(sorted(shown.items())).values()) == [
        "'=HYPERLINK(1)",
        "'+1",
        "'-1",
        "'@SUM(A1)",
        'a "quoted", name',
        "Ünï \u2603",
        "'\uff1d1",
        "a;'=1+1",
        "b,' \"=1",
    ]


def test_one_table_goes_to_a_file_or_to_stdout(tmp_path: Path) -> None:
    home, file = tmp_path / "SHARED", tmp_path / "a" / "m.csv"
    keep(home, 3)
    said("export", "--home", home, "--csv", file, "--table", "matches")
    assert [row["match_id"] for row in read_csv(file.read_text())] == ["R1M1", "R2M1", "R3M1"]
    assert said("export", "--home", home, "--csv", "-", "--table", "matches").out == file.read_text()


def test_a_site_is_written_with_its_size_and_a_notice_where_the_league_runs(tmp_path: Path) -> None:
    home, folder = tmp_path / "SHARED", tmp_path / "site"
    keep(home, 4, 3)
    done = said("export", "--home", home, "--html", folder)
    assert done.err.startswith("wrote ")
    assert done.err.endswith(f" s: {folder / 'index.html'}\n")
    assert ", after 3 of 6 matches." in (folder / "index.html").read_text()
    assert said("export", "--home", home, "--html", folder).code == 0


def test_processes_write_the_same_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "SHARED"
    keep(home, 8)
    said("export", "--home", home, "--html", tmp_path / "here")
    monkeypatch.setattr(export, "MAX_PAGES_IN_PROCESS", 0)
    monkeypatch.setattr(export, "PAGES_PER_CHUNK", 60)
    said("export", "--home", home, "--html", tmp_path / "there")
    here, there = (
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for root in (tmp_path / "here", tmp_path / "there")
    )
    assert here == there
    assert len(here) > 60


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ([], "league export: expected --html DIR, --csv PATH, --json or --json-file FILE"),
        (["--csv", "-", "--json"], "--csv and --json can't both have stdout"),
        (["--json", "."], ". is a folder; expected a file"),
        (["--html", "{home}"], "there are files in it that are no earlier export"),
        (["--csv", "{home}/config/system.json"], "can't be written: a part of its path is a file"),
    ],
)
def test_what_can_not_be_written_is_said(tmp_path: Path, args: list[str], sentence: str) -> None:
    home = tmp_path / "SHARED"
    keep(home, 2)
    assert sentence in said("export", "--home", home, *(arg.format(home=home) for arg in args)).error
