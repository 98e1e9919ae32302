"""The static site: the live site's pages as files that lead to each other and nowhere else."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from agent_league.errors import UserError
from agent_league.web.export import (
    MANIFEST,
    ExportedFile,
    claim_folder,
    finish_export,
    list_pages,
    write_assets,
    write_pages,
)
from agent_league.web.league_reader import LeagueReader
from agent_league.web.pages import PAGES
from tests.cli.leagues import play
from tests.harm import ATTRIBUTE, FORMULA, SCRIPT
from tests.web.format_seasons import cup_season
from tests.web.seasons import reader_of, season_of

NASTY = (SCRIPT, ATTRIBUTE, FORMULA, "Ünï \u2603")
LOCAL = "http://site/some/folder/"
"""Stands for wherever the folder is put."""


class Links(HTMLParser):
    """What a page refers to, and what can be referred to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.scripts: list[str | None] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.links += [given[name] or "" for name in ("href", "src", "action", "data-events") if name in given]
        self.anchors |= {given[name] or "" for name in ("id", "name") if name in given}
        if tag == "script":
            self.scripts.append(given.get("type"))


def exported(reader: LeagueReader, folder: Path, note: str = "", *, force: bool = False) -> list[ExportedFile]:
    earlier = claim_folder(folder, force=force)
    written = list(write_pages(reader, folder, list_pages(reader), note))
    written += write_assets(folder, written)
    finish_export(folder, written, earlier, reader.state.league_id)
    return written


def pages(folder: Path) -> Iterator[tuple[str, Links]]:
    for path in sorted(folder.rglob("*.html")):
        yield path.relative_to(folder).as_posix(), Links(path.read_text(encoding="utf-8"))


def assert_whole(folder: Path) -> None:
    """Every link of every page leads to a file of the folder, and to a place in it where it names one."""
    known = dict(pages(folder))
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for name, page in known.items():
        for link in page.links:
            target = urljoin(LOCAL + name, link)
            assert not link.startswith("/"), f"{name}: {link}"
            assert target.startswith(LOCAL), f"{name}: {link}"
            parts = urlsplit(target.removeprefix(LOCAL))
            path = unquote(parts.path)
            assert path in files, f"{name}: {link}"
            if "=" in parts.fragment:
                continue  # for the page's script
            if parts.fragment and path in known:
                assert unquote(parts.fragment) in known[path].anchors, f"{name}: {link}"
        assert "module" not in page.scripts, f"{name}: browsers refuse modules from a disk"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    exported(reader_of(season_of(6, names=NASTY), folder / "nowhere"), folder)
    return folder


def test_there_is_a_file_for_every_page_and_key(site: Path) -> None:
    season = season_of(6, names=NASTY)
    written = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert {f"matches/{pairing.match_id}.html" for pairing in season.schedule.pairings} <= written
    assert {f"players/{player_id}.html" for player_id in season.roster.players()} <= written
    reader = reader_of(season, site)
    exported_pages = [page for page in PAGES if page.is_exported and page.is_offered(reader)]
    once = {f"{page.path or 'index'}.html" for page in exported_pages if "{key}" not in page.path}
    assert once <= written


def test_every_link_leads_to_a_file_of_the_folder(site: Path) -> None:
    assert len(list(pages(site))) > 20
    assert_whole(site)


def test_a_played_league_with_its_conversations_is_whole_too(tmp_path: Path) -> None:
    from agent_league.config import ConfigLoader
    from agent_league.launch.stored_leagues import find_league

    home = tmp_path / "SHARED"
    play(home, players=3, referees=1)
    exported(find_league(home, ConfigLoader(home), None, None).make_reader(), tmp_path / "site")
    assert_whole(tmp_path / "site")
    assert "GAME_INVITATION" in (tmp_path / "site" / "matches" / "R1M1.html").read_text()


@pytest.mark.parametrize("played", [0, 4])
def test_a_league_that_is_not_over_is_whole_and_says_so_on_every_page(tmp_path: Path, played: int) -> None:
    exported(reader_of(season_of(4, played), tmp_path / "home"), tmp_path, "As it stood at noon.")
    assert_whole(tmp_path)
    assert all("As it stood at noon." in path.read_text() for path in tmp_path.rglob("*.html"))


def test_groups_and_bracket_are_exported_and_whole(tmp_path: Path) -> None:
    exported(reader_of(cup_season(None), tmp_path / "nowhere"), tmp_path / "site")
    assert_whole(tmp_path / "site")
    assert {"groups.html", "bracket.html"} <= {name for name, _ in pages(tmp_path / "site")}


def test_a_league_that_waits_is_whole(tmp_path: Path) -> None:
    exported(reader_of(season_of(3, started=False), tmp_path / "home"), tmp_path)
    assert_whole(tmp_path)


def test_nothing_needs_a_server_and_no_name_becomes_markup(site: Path) -> None:
    assert not {"live.js", "play.js", "seat.js", "admin.js"} & {path.name for path in (site / "static").iterdir()}
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\sdata-(events|live(?!=))\b", text), f"{path.name}: only a server goes on telling"
        assert "<script>alert(1)" not in text
        assert 'onmouseover="x' not in text
        assert not re.search(r"<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=\"", text), path.name


def test_styles_refer_to_nothing_that_is_not_there(site: Path) -> None:
    for path in (site / "static").glob("*.css"):
        for link in re.findall(r"url\(['\"]?([^)'\"]+)", path.read_text()):
            assert link.startswith("data:") or (path.parent / link).is_file(), f"{path.name}: {link}"


def test_an_earlier_export_is_replaced_and_what_others_put_there_stays(tmp_path: Path) -> None:
    exported(reader_of(season_of(4), tmp_path / "home"), tmp_path)
    (tmp_path / "CNAME").write_text("league.example")
    assert (tmp_path / "players" / "P04.html").exists()
    exported(reader_of(season_of(3), tmp_path / "home"), tmp_path)
    assert not (tmp_path / "players" / "P04.html").exists()
    assert (tmp_path / "players" / "P03.html").exists()
    assert (tmp_path / "CNAME").read_text() == "league.example"
    assert_whole(tmp_path)


def test_a_folder_of_others_is_not_written_to_unless_one_insists(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(UserError, match="there are files in it that are no earlier export"):
        claim_folder(tmp_path, force=False)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    assert claim_folder(tmp_path, force=True) == []
    with pytest.raises(UserError, match="is a file; expected a folder"):
        claim_folder(tmp_path / "thesis.txt", force=True)


def test_an_export_that_was_interrupted_can_be_repeated(tmp_path: Path) -> None:
    reader = reader_of(season_of(4), tmp_path / "home")
    claim_folder(tmp_path, force=False)
    next(write_pages(reader, tmp_path, list_pages(reader)))
    exported(reader, tmp_path)
    assert_whole(tmp_path)


@pytest.mark.parametrize(
    "named", ["../thesis.html", "/thesis.html", "a/../../thesis.html", ".git/x.html", "thesis.txt", ""]
)
def test_a_manifest_can_not_name_a_file_that_is_not_ours(tmp_path: Path, named: str) -> None:
    folder = tmp_path / "site"
    for path in (tmp_path / "thesis.html", folder / "thesis.txt", folder / ".git" / "x.html"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("years of work")
    finish_export(folder, [], [named], "league")
    assert {path.name for path in tmp_path.rglob("*.*") if path.is_file()} == {
        "thesis.html",
        "thesis.txt",
        "x.html",
        MANIFEST,
    }


def test_a_page_that_can_not_be_made_says_so_and_the_others_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr("agent_league.web.pages.match.read_match", fail)
    written = exported(reader_of(season_of(3), tmp_path / "home"), tmp_path)
    problems = {file.path: file.problem for file in written if file.problem}
    assert problems == {f"matches/R{number}M1.html": "RecursionError('too deep')" for number in (1, 2, 3)}
    assert "This page could not be made" in (tmp_path / "matches" / "R1M1.html").read_text()
    assert_whole(tmp_path)


@pytest.mark.parametrize("link", ["index.html", "players", MANIFEST])
def test_an_export_writes_and_takes_away_nothing_behind_a_link(tmp_path: Path, link: str) -> None:
    folder, other = tmp_path / "site", tmp_path / "other"
    other.mkdir()
    (other / "P09.html").write_text("years of work")
    folder.mkdir()
    (folder / link).symlink_to(other if link == "players" else other / "P09.html")
    with pytest.raises(UserError, match="is a link; an export writes into its own folder alone"):
        exported(reader_of(season_of(3), tmp_path / "home"), folder, force=True)
    if link == "players":
        finish_export(folder, [], ["players/P09.html"], "league")
    assert (other / "P09.html").read_text() == "years of work"
    assert [path.name for path in other.iterdir()] == ["P09.html"]
