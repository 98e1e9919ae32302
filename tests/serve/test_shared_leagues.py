"""Several servers in this process on one PostgreSQL: who owns which league, and what comes of a league that moves."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from agent_league import __version__
from agent_league.cli.serve import lock_home
from agent_league.errors import UserError
from agent_league.serve import ownership, shared_leagues
from agent_league.serve.league_files import NewLeague, list_league_files, request_new_season
from agent_league.serve.ownership import check_internal_addresses
from agent_league.serve.passed_call import PASSING_PROTOCOL
from agent_league.storage.directory import ServerDirectory, ServerRow
from agent_league.storage.paths import DataPaths
from agent_league.storage.sql import SqlStore
from tests.cli.command import league
from tests.conftest import BOUND, free_ports
from tests.serve.stage import ServerStage, players, serving, until, write_league
from tests.storage.conftest import Place
from tests.storage.postgres import PostgresServer
from tests.storage.test_directory import Stage, make_older_database


@pytest.fixture(autouse=True)
def _quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_leagues, "POLL_SECONDS", 0.05)


@pytest.fixture
def homes(home: Path) -> list[Path]:
    """Homes of several servers."""
    others = [home.parent / f"HOME{number}" for number in (2, 3)]
    for other in others:
        shutil.copytree(home, other)
    return [home, *others]


@asynccontextmanager
async def servers(
    homes: list[Path], store: str | None, ports: Sequence[int | None] = (None, None, None)
) -> AsyncIterator[list[ServerStage]]:
    """Servers of these homes that share a store, each ready before the next is started."""
    async with AsyncExitStack() as stack:
        made = [serving(one, port, store=store) for one, port in zip(homes, ports, strict=False)]
        yield [await stack.enter_async_context(one) for one in made]


def owned(*stages: ServerStage) -> list[set[str]]:
    return [{*stage.server.leagues} for stage in stages]


async def test_new_leagues_are_spread_and_known_to_every_server(homes: list[Path], database: str) -> None:
    async with asyncio.timeout(BOUND), servers(homes[:2], database) as (one, other):
        for number in range(5):
            write_league(homes[0], f"L{number}", display_name=f"League {number}")
        everything = {"league_2025_even_odd", *(f"L{number}" for number in range(5))}
        await until(lambda: owned(one)[0] | owned(other)[0] == everything)
        mine, theirs = owned(one, other)
        assert not mine & theirs
        assert abs(len(mine) - len(theirs)) <= 1
        await until(lambda: {*list_league_files(homes[1])} == everything)
        await until(lambda: all(len(stage.server.read_index().soon) == 6 for stage in (one, other)))
        told = await asyncio.to_thread(league, "servers", "--store", database, "--json")
        shown = json.loads(told.stdout)
        assert [len(server["leagues"]) for server in shown["servers"]] == [3, 3]
        assert {league_id for server in shown["servers"] for league_id in server["leagues"]} == everything
        assert [server["version"] for server in shown["servers"]] == [__version__, __version__]
        drawn = await asyncio.to_thread(league, "servers", "--store", database)
        assert all(part in drawn.stdout for part in ("lease ends in", __version__))
        health = json.loads((await one.visitor.get("/health")).text)
        assert (health["status"], health["leagues"], health["servers"]) == ("ok", 3, 2)
        metrics = (await one.visitor.get("/metrics")).text
        assert 'leagues{status="registration"} 3' in metrics, "each server counts its own"
        page = await one.visitor.get("/")
        assert all(f"League {number}" in page.text for number in range(5))


async def test_an_organiser_commands_every_league_at_any_server(homes: list[Path], database: str) -> None:
    async with asyncio.timeout(BOUND), servers(homes[:2], database) as (one, other):
        with lock_home(homes[0], one.root), lock_home(homes[1], other.root):
            for number in range(2):
                write_league(homes[0], f"L{number}")
            await until(lambda: all(len(stage.server.read_index().soon) == 3 for stage in (one, other)))
            tokens = [DataPaths(home).admin_token_file(f"L{number}") for home in homes[:2] for number in range(2)]
            await until(lambda: all(token.is_file() for token in tokens))
            for number in range(2):
                for home, action in ((homes[0], "close"), (homes[1], "open")):
                    words = ("admin", action, "--league-id", f"L{number}", "--home", home)
                    done = await asyncio.to_thread(league, *words)
                    assert f"Registration to L{number} is" in done.stderr, done.stderr


async def test_a_file_changed_or_deleted_at_one_server_counts_at_all(homes: list[Path], database: str) -> None:
    async with asyncio.timeout(BOUND), servers(homes[:2], database) as (one, other):
        write_league(homes[0], "spring", display_name="Spring")
        await until((homes[1] / "config" / "leagues" / "spring.json").is_file)
        write_league(homes[1], "spring", display_name="Primavera")
        await until(lambda: "Primavera" in {entry.title for entry in one.server.read_index().soon})
        (homes[0] / "config" / "leagues" / "spring.json").unlink()
        await until(lambda: not (homes[1] / "config" / "leagues" / "spring.json").exists())
        await until(lambda: not any("spring" in leagues for leagues in owned(one, other)))
        assert "spring" not in {entry.league_id for entry in other.server.read_index().soon}


async def test_where_home_and_store_differ_at_first_the_store_counts_and_a_copy_is_kept(
    homes: list[Path], database: str
) -> None:
    write_league(homes[0], "spring", display_name="Spring")
    write_league(homes[1], "spring", display_name="Other")
    async with asyncio.timeout(BOUND), servers(homes[:2], database):
        path = homes[1] / "config" / "leagues" / "spring.json"
        assert json.loads(path.read_text())["display_name"] == "Spring"
        aside = DataPaths(homes[1]).replaced_files_folder / "spring.json"
        assert json.loads(aside.read_text())["display_name"] == "Other"


async def test_a_league_goes_on_at_another_server_after_a_clean_stop(homes: list[Path], database: str) -> None:
    write_league(homes[0], "spring", game_type="tic_tac_toe", participants={"start_with": 6})
    async with asyncio.timeout(BOUND), AsyncExitStack() as stack:
        async with serving(homes[0], store=database) as first:
            names = [f"player {number}" for number in range(6)]
            await stack.enter_async_context(players(homes[0], f"{first.root}/leagues/spring/mcp", names))
            await until(lambda: len(first.manager("spring").state.results) >= 3)
            second = await stack.enter_async_context(serving(homes[1], store=database, port=None))
            assert "spring" not in second.server.leagues, "a league that is played is torn away from nobody"
        await until(lambda: "spring" in second.server.leagues and second.server.leagues["spring"].manager is not None)
        await second.wait_for_end("spring")
        state = second.manager("spring").state
        assert len(state.results) == 15
        assert {result.outcome for result in state.results.values()} <= {"WIN", "DRAW"}
        folder = DataPaths(homes[1]).matches_folder("spring")
        await until(lambda: len([*folder.glob("*.json")]) == 15)  # those of the first server came with the league
        assert [member.agent_id for member in state.roster if member.role == "referee"] == ["REF01"]


async def test_an_organiser_makes_leagues_and_seasons_at_any_server(homes: list[Path], database: str) -> None:
    async with asyncio.timeout(BOUND), servers(homes[:2], database) as (one, other):
        made = [f"cup{number}" for number in range(4)]
        for name in made:
            await one.server.make_league(NewLeague(name, players=2))
        assert all(one.server.shared is not None and one.server.shared.owners.find_owner(name) for name in made)
        elsewhere = next(name for name in made if name in other.server.leagues)
        names = ["player 1", "player 2"]
        async with players(homes[0], f"{other.root}/leagues/{elsewhere}/mcp", names):
            await other.wait_for_end(elsewhere)
            await until(lambda: one.server.is_completed(elsewhere))
            store = SqlStore(database)
            before = store.read_season(elsewhere)
            await one.server.begin_season(elsewhere)
            after = store.read_season(elsewhere)
            assert before is not None
            assert after is not None
            assert after.season.season_id != before.season.season_id
            request_new_season(homes[0], elsewhere)
            await until(lambda: not (DataPaths(homes[0]).season_requests_folder / elsewhere).exists())
            seasons = await one.server.archive.list_seasons()
            assert [season.season_id for season in seasons] == [before.season.season_id]
            page = await one.visitor.get(f"/archive/{before.season.season_id}/matches/R1M1")
            assert "player 1" in page.text
            store.close()


def test_servers_of_two_machines_must_reach_each_other() -> None:
    here = ServerRow("a", "http://localhost:8000", "one")
    check_internal_addresses(here, [ServerRow("b", "http://localhost:8001", "one")])
    there = ServerRow("b", "http://10.0.0.2:8000", "two")
    with pytest.raises(UserError, match="The server on one is at http://localhost:8000, which the one on two"):
        check_internal_addresses(here, [there])
    with pytest.raises(UserError, match="Start it with --internal-url"):
        check_internal_addresses(there, [here])
    check_internal_addresses(ServerRow("a", "http://10.0.0.1:8000", "one"), [there])


async def test_a_server_that_lost_its_lease_gives_its_leagues_up_and_comes_back(
    homes: list[Path], database: str
) -> None:
    write_league(homes[0], "spring", participants={"start_with": 2})
    async with asyncio.timeout(BOUND), servers(homes[:2], database) as (one, other):
        shared = one.server.shared
        assert shared is not None
        earlier, manager = shared.owners.server_id, one.manager("spring")
        store = SqlStore(database)
        with store.write_transaction() as connection:
            connection.exec_driver_sql("UPDATE servers SET expires_at = 0 WHERE server_id = %s", (earlier,))
        await until(lambda: shared.owners.server_id != earlier)
        await until(lambda: {*owned(one)[0], *owned(other)[0]} == {"league_2025_even_odd", "spring"})
        assert manager.health()["status"] == "store_unavailable", "the manager that was given up writes nothing more"
        again = next(stage for stage in (one, other) if "spring" in stage.server.leagues)
        await until(lambda: again.server.leagues["spring"].manager is not None)
        async with players(homes[0], f"{again.root}/leagues/spring/mcp", ["a", "b"]):
            await again.wait_for_end("spring")
        store.close()


async def test_the_leagues_outlast_a_database_that_is_away_longer_than_the_lease(
    homes: list[Path], database: str, postgres: PostgresServer
) -> None:
    write_league(homes[0], "spring", game_type="tic_tac_toe", participants={"start_with": 4})
    slow = {"system.network.lease_sec": 1}
    async with asyncio.timeout(2 * BOUND), serving(homes[0], overrides=slow, store=database) as stage:
        shared = stage.server.shared
        assert shared is not None
        earlier = shared.owners.server_id
        await asyncio.to_thread(postgres.stop)
        try:
            await until(lambda: not stage.server.leagues)
            page = await stage.visitor.get("/leagues/spring/")
            assert page.status == 503
        finally:
            await asyncio.to_thread(postgres.start)
        await until(lambda: "spring" in stage.server.leagues and stage.server.leagues["spring"].manager is not None)
        assert shared.owners.server_id != earlier
        names = [f"player {number}" for number in range(4)]
        async with players(homes[0], f"{stage.root}/leagues/spring/mcp", names):
            await stage.wait_for_end("spring")
        assert len(stage.manager("spring").state.results) == 6


async def test_a_server_that_couldnt_be_reached_is_waited_for_until_it_is_gone(
    homes: list[Path], database: str
) -> None:
    store = SqlStore(database)
    ServerDirectory(store, 1.5).enter(ServerRow("gone", "http://127.0.0.1:9000", "a container that was killed"))
    store.close()
    async with asyncio.timeout(BOUND), serving(homes[0], store=database) as stage:
        assert "league_2025_even_odd" in stage.server.leagues


async def test_a_server_of_an_older_version_is_waited_for_until_it_is_gone_and_then_the_schema_is_changed(
    homes: list[Path], database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed server of another version doesn't keep the next one from starting; one that runs does."""
    place = Place(database)
    make_older_database(Stage(place), monkeypatch, 1.5)
    async with asyncio.timeout(BOUND), serving(homes[0], store=database) as stage:
        assert "league_2025_even_odd" in stage.server.leagues
        place.execute(f"UPDATE servers SET protocol = {PASSING_PROTOCOL + 1}")
        with pytest.raises(UserError, match="which passes calls in another way"):
            async with serving(homes[1], overrides={"network.lease_sec": 1.0}, store=database):
                pass
    place.close()


def test_league_servers_needs_a_postgresql(tmp_path: Path, database: str) -> None:
    for words in ([], ["--store", f"sqlite:///{tmp_path / 'league.db'}"]):
        refused = league("servers", *words, cwd=tmp_path)
        assert (refused.returncode, "expected the PostgreSQL that they share" in refused.stderr) == (2, True)
    unused = league("servers", "--store", database, cwd=tmp_path)
    assert (unused.returncode, "No server has ever used this database" in unused.stderr) == (2, True)


async def test_without_notifications_servers_find_out_by_looking(
    homes: list[Path], database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hear_nothing(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(ownership, "listen_for_notifications", hear_nothing)
    async with asyncio.timeout(BOUND), serving(homes[1], store=database) as second:
        async with serving(homes[0], store=database) as first:
            for number in range(4):
                write_league(homes[0], f"L{number}")
            everything = {"league_2025_even_odd", *(f"L{number}" for number in range(4))}
            await until(lambda: owned(first)[0] | owned(second)[0] == everything)
            assert owned(first)[0]
        await until(lambda: owned(second)[0] == everything)


async def test_a_database_that_is_restarted_under_two_servers_costs_nobody_a_point(
    homes: list[Path], database: str, postgres: PostgresServer
) -> None:
    async with asyncio.timeout(2 * BOUND), servers(homes[:2], database) as (one, other), AsyncExitStack() as stack:
        leagues = ["L1", "L2"]
        for league_id in leagues:
            write_league(homes[0], league_id, game_type="tic_tac_toe", participants={"start_with": 4})
        await until(lambda: {*owned(one)[0], *owned(other)[0]} == {"league_2025_even_odd", *leagues})
        for league_id in leagues:
            names, manager = [f"{league_id} {number}" for number in range(4)], f"{one.root}/leagues/{league_id}/mcp"
            await stack.enter_async_context(players(homes[0], manager, names))
        read = SqlStore(database)

        def count_results(league_id: str) -> int:
            saved = read.read_season(league_id)
            return sum(match.result is not None for match in saved.matches) if saved else 0

        await until(lambda: sum(map(count_results, leagues)) >= 3)
        await asyncio.to_thread(postgres.stop)
        await asyncio.to_thread(postgres.start)
        await until(lambda: [count_results(league_id) for league_id in leagues] == [6, 6])
        for league_id in leagues:
            saved = read.read_season(league_id)
            assert saved is not None
            assert not any((match.result or {}).get("terminations") for match in saved.matches)
        read.close()


@pytest.mark.parametrize("servers_then", [1, 2])
async def test_servers_go_on_with_what_was_restored_from_a_backup_of_one_of_them(
    homes: list[Path], database: str, empty_database: str, tmp_path: Path, servers_then: int
) -> None:
    """Two with a database of their own, each with a new folder, or one for all on SQLite."""
    backups, restored, names = tmp_path / "backups", tmp_path / "NEW", [f"player {number}" for number in range(4)]
    ports, store = free_ports(5), empty_database if servers_then > 1 else None
    manager = f"http://localhost:{ports + 4}/leagues/spring/mcp"
    write_league(homes[0], "spring", game_type="tic_tac_toe", participants={"start_with": 4})
    async with asyncio.timeout(2 * BOUND):
        async with servers(homes[:2], database, [ports + 4, None]) as stages:
            owner, other = sorted(stages, key=lambda stage: "spring" not in stage.server.leagues)
            async with players(homes[0], manager, names, first_port=ports):
                await until(lambda: len(owner.manager("spring").state.results) >= 2)
                await owner.manager("spring").wait_until_saved()
                words = ("backup", backups, "--home", other.server.settings.home, "--store", database)
                made = await asyncio.to_thread(league, *words)
                assert made.returncode == 0, made.stderr
        restore = ("restore", *backups.iterdir(), "--home", restored, *(("--store", store) if store else ()))
        done = await asyncio.to_thread(league, *restore)
        assert done.returncode == 0, done.stderr
        assert (restored / "data" / "league.db").exists() == (store is None)
        async with (
            players(homes[0], manager, names, first_port=ports),
            servers([restored, homes[2]][:servers_then], store, [ports + 4, None]) as stages,
        ):
            await until(lambda: any("spring" in stage.server.leagues for stage in stages))
            owner = next(stage for stage in stages if "spring" in stage.server.leagues)
            await until(lambda: owner.server.leagues["spring"].manager is not None)
            state = owner.manager("spring").state
            assert len(state.results) >= 2
            await owner.wait_for_end("spring")
            assert len(state.results) == 6
            assert {result.outcome for result in state.results.values()} <= {"WIN", "DRAW"}
            files = DataPaths(owner.server.settings.home).matches_folder("spring")
            await until(lambda: len([*files.glob("*.json")]) == 6)  # match files are in the database as well


async def test_a_backup_is_restored_into_no_database_that_is_used(home: Path, database: str, tmp_path: Path) -> None:
    async with asyncio.timeout(BOUND), serving(home, store=database):
        made = await asyncio.to_thread(league, "backup", tmp_path / "backups", "--home", home, "--store", database)
        assert made.returncode == 0, made.stderr
        (file,) = (tmp_path / "backups").iterdir()
        restored = await asyncio.to_thread(league, "restore", file, "--home", tmp_path / "NEW", "--store", database)
    assert (restored.returncode, "isn't empty" in restored.stderr) == (2, True)
    assert not (tmp_path / "NEW").exists()
