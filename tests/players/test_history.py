"""Memory: what a player keeps of its games and opponents, on disk and over a restart."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agent_league.log import JsonLogger
from agent_league.players.events import MatchOver
from agent_league.players.history import SAVE_DELAY_PER_GAME, SAVE_INTERVAL_SECONDS, PlayerHistory
from agent_league.players.observation import GameRecord, Move, Observation
from agent_league.players.sensors import MAX_MOVES_LENGTH
from agent_league.testing.virtual_time import in_virtual_time
from tests.players.chair import LEAGUE, Fixed, chair, game_over, invitation, parity_call
from tests.players.test_player import SIGNED, match_token


def saved(home: Path, player_id: str = "P01") -> dict[str, Any]:
    content: dict[str, Any] = json.loads((home / f"data/players/{player_id}/history.json").read_text())
    return content


async def test_a_finished_match_is_in_the_history_with_statistics_and_opponent_model(home: Path) -> None:
    async with chair(home, Fixed("even")) as seat:
        await seat.plays("R1M1", "P02", winner="P01")
        await seat.plays("R2M1", "P03", winner="P03")
        await seat.plays("R3M1", "P02", winner=None)
        await seat.plays("R4M1", "P02", winner="P02", status="TECHNICAL_LOSS")
        state = await seat.state()
    stats = {"played": 4, "wins": 1, "draws": 1, "losses": 2, "technical_losses": 1}
    assert state["stats"] == stats
    assert [match["outcome"] for match in state["matches"]] == ["WIN", "LOSS", "DRAW", "TECHNICAL_LOSS"]
    assert state["matches"][0] == {
        "match_id": "R1M1",
        "game_type": "even_odd",
        "opponent_id": "P02",
        "outcome": "WIN",
        "my_moves": ["even"],
        "opponent_moves": ["odd"],
        "league_id": LEAGUE,
        "round_id": None,
        "season": None,
        "details": {"drawn_number": 8, "number_parity": "even", "reason": "P01 chose even, number was 8 (even)"},
    }
    assert state["opponents"] == {
        "P02": {
            "games": 3,
            "moves": {"odd": 3},
            "transitions": {"odd>odd": 2},
            "outcomes": {"WIN": 1, "DRAW": 1, "TECHNICAL_LOSS": 1},
            "last_move": "odd",
        },
        "P03": {
            "games": 1,
            "moves": {"odd": 1},
            "transitions": {},
            "outcomes": {"LOSS": 1},
            "last_move": "odd",
        },
    }
    content = saved(home)
    assert content["player_id"] == "P01"
    assert {name: content[name] for name in ("stats", "matches", "opponents")} == {
        name: state[name] for name in ("stats", "matches", "opponents")
    }


async def test_moves_that_would_fill_a_history_are_left_out(home: Path) -> None:
    async with chair(home, Fixed("even")) as seat:
        await seat.call("notify_match_result", game_over(choices={"P01": ["even"], "P02": ["x" * MAX_MOVES_LENGTH]}))
        (match,) = (await seat.state())["matches"]
    assert (match["my_moves"], match["opponent_moves"]) == (["even"], [])


async def test_the_history_is_loaded_after_a_restart_and_goes_on(home: Path) -> None:
    async with chair(home) as seat:
        await seat.plays("R1M1")
    strategy = Fixed()
    async with chair(home, strategy) as seat:
        assert (await seat.state())["stats"]["played"] == 1
        await seat.plays("R2M1")
    assert [game.match_id for game in strategy.seen[0].history][:1] == ["R1M1"]
    assert saved(home)["stats"]["played"] == 2
    assert saved(home)["opponents"]["P02"]["transitions"] == {"odd>odd": 1}


async def test_a_result_told_twice_counts_once_also_over_a_restart(home: Path) -> None:
    async with chair(home) as seat:
        await seat.plays("R1M1")
        assert await seat.call("notify_match_result", game_over("R1M1")) == {"status": "ok"}
        assert (await seat.state())["stats"]["played"] == 1
    async with chair(home) as seat:
        await seat.call("notify_match_result", game_over("R1M1"))
        assert (await seat.state())["stats"]["played"] == 1
        assert MatchOver not in map(type, (happening for _, happening in seat.told))


async def test_a_new_league_under_the_same_ids_is_remembered_beside_the_old(home: Path) -> None:
    async with chair(home) as seat:
        await seat.plays("R1M1")
    async with chair(home) as seat:
        await seat.plays("R1M1", winner="P02")
        await seat.call("notify_match_result", game_over("R1M1"))
        assert [match["outcome"] for match in (await seat.state())["matches"]] == ["WIN", "LOSS"]


def record(season: str | None, match_id: str, outcome: str) -> GameRecord:
    return GameRecord(match_id, "even_odd", "P02", outcome, ("even",), ("odd",), LEAGUE, season=season)


def remembered(home: Path) -> PlayerHistory:
    return PlayerHistory("P01", "Agent", home, JsonLogger("P01", log_root=home / "logs"))


async def test_a_match_that_is_played_again_is_remembered_once_as_it_ended_last(home: Path) -> None:
    memory = remembered(home)
    for match_id, outcome in (("R1M1", "WIN"), ("R2M1", "WIN"), ("R1M1", "LOSS"), ("R1M1", "DRAW")):
        if outcome != "DRAW":  # a result that nobody invited to
            memory.expect_match("key", LEAGUE, match_id)
        assert memory.record_game(record("key", match_id, outcome)) == (outcome != "DRAW")
    for memory_ in (memory, remembered(home)):  # as after a kill: only the journal is there
        assert [(game.match_id, game.outcome) for game in memory_.games] == [("R1M1", "LOSS"), ("R2M1", "WIN")]
        assert memory_.opponents["P02"].games == 2
        assert memory_.opponents["P02"].outcomes == {"LOSS": 1, "WIN": 1}
    memory.close()
    assert [match["outcome"] for match in saved(home)["matches"]] == ["LOSS", "WIN"]
    assert [game.outcome for game in remembered(home).games] == ["LOSS", "WIN"]


async def test_a_match_that_is_played_again_is_decided_as_if_it_had_not_been_played(home: Path) -> None:
    """Its server was lost between the players' GAME_OVER and the commit: that result never counted."""
    known: list[list[str]] = []

    class Noting(Fixed):
        def choose(self, observation: Observation) -> Move:
            known.append([game.match_id for game in observation.history])
            return super().choose(observation)

    async with chair(home, Noting(), manager=SIGNED) as seat:

        async def play(match_id: str, token: str) -> None:
            for method, message in (
                ("handle_game_invitation", invitation(match_id)),
                ("choose_parity", parity_call(match_id)),
                ("notify_match_result", game_over(match_id)),
            ):
                assert "error_code" not in await seat.call(method, {**message, "auth_token": token})

        await play("R1M1", match_token(match_id="R1M1"))
        await play("R2M1", match_token(match_id="R2M1"))
        await play("R2M1", match_token(match_id="R2M1", lifetime=61))
        await play("R3M1", match_token(match_id="R3M1"))
    assert known == [[], ["R1M1"], ["R1M1"], ["R1M1", "R2M1"]]


async def test_a_match_that_is_played_again_to_the_same_end_is_no_news(home: Path) -> None:
    memory = remembered(home)
    assert memory.record_game(record("key", "R1M1", "WIN"))
    memory.expect_match("key", LEAGUE, "R1M1")
    assert not memory.record_game(record("key", "R1M1", "WIN"))
    assert len(memory.games) == memory.opponents["P02"].games == 1
    memory.close()


async def test_the_same_match_in_another_season_of_the_league_is_another_match(home: Path) -> None:
    for season in ("one key", "another key"):
        memory = remembered(home)
        memory.expect_match(season, LEAGUE, "R1M1")
        assert memory.record_game(record(season, "R1M1", "WIN"))
        memory.close()
    assert [match["season"] for match in saved(home)["matches"]] == ["one key", "another key"]


async def test_what_was_told_before_a_kill_is_there_after(home: Path) -> None:
    """Nobody closes anything: another process looks while the player still lives."""
    async with chair(home) as seat:
        for number in range(1, 4):
            await seat.plays(f"R{number}M1")
            assert not (home / "data/players/P01/history.json").exists()
            after = PlayerHistory("P01", "Agent Alpha", home, seat.player.log)
            assert [game.match_id for game in after.games] == [f"R{one}M1" for one in range(1, number + 1)]
            assert after.opponents["P02"].games == number


async def test_a_result_that_comes_after_the_end_is_written_and_leaves_no_file_open(home: Path) -> None:
    memory = remembered(home)
    memory.close()
    assert memory.record_game(record("2026", "R1M1", "WIN"))
    assert [game["match_id"] for game in saved(home)["matches"]] == ["R1M1"]
    assert not journal_of(home).exists()


def journal_of(home: Path) -> Path:
    return home / "data/players/P01/history.journal.jsonl"


async def test_a_line_of_the_journal_that_a_kill_cut_off_costs_that_game_alone(home: Path) -> None:
    first = remembered(home)
    for number in range(1, 4):
        first.record_game(record("key", f"R{number}M1", "WIN"))
    path = journal_of(home)
    path.write_bytes(path.read_bytes()[:-20])
    first._journal.close()
    second = remembered(home)
    assert [game.match_id for game in second.games] == ["R1M1", "R2M1"]
    assert second.record_game(record("key", "R4M1", "LOSS"))
    second._journal.close()
    third = remembered(home)
    assert [game.match_id for game in third.games] == ["R1M1", "R2M1", "R4M1"]
    assert third.record_game(record("key", "R5M1", "LOSS"))
    third.close()
    assert [match["match_id"] for match in saved(home)["matches"]] == ["R1M1", "R2M1", "R4M1", "R5M1"]


@pytest.mark.parametrize(("seed", "known"), [(None, ["R0M1", "R1M1"]), ("7", ["R1M1"])])
async def test_under_a_seed_a_strategy_remembers_this_league_alone(
    home: Path, seed: str | None, known: list[str]
) -> None:
    memory = remembered(home)
    memory.record_game(record("an earlier one", "R0M1", "WIN"))
    memory.close()
    strategy = Fixed()
    async with chair(home, strategy, display_name="Agent", seed=seed, game_types=("*",)) as seat:
        await seat.plays("R1M1")
        await seat.choice("R2M1")
        await seat.move([1], match_id="R3M1")
    assert [[game.match_id for game in seen.history] for seen in strategy.seen[1:]] == [known, known]
    assert [match["match_id"] for match in saved(home)["matches"]] == ["R0M1", "R1M1"]


async def test_under_a_seed_no_move_copies_the_games(home: Path) -> None:
    strategy = Fixed()
    async with chair(home, strategy, seed="7") as seat:
        await seat.plays("R1M1")
        await seat.plays("R2M1")
        assert strategy.seen[0].history is strategy.seen[1].history
        assert strategy.seen[0].history == seat.player.games == seat.player.league_games


async def test_the_games_of_a_league_are_those_of_its_season_whatever_is_played_again_or_forgotten(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_league.players.history.MAX_GAMES", 6)
    monkeypatch.setattr("agent_league.players.history.FORGET_BATCH_SIZE", 2)
    memory = remembered(home)
    for number in range(20):
        season, match_id = f"key {number % 2}", f"R{number // 3}M1"
        memory.expect_match(season, LEAGUE, match_id)
        memory.record_game(record(season, match_id, "WIN" if number % 4 else "LOSS"))
        for asked in (season, "key 0"):
            assert memory.league_games(asked, LEAGUE) == [game for game in memory.games if game.season == asked]
    assert memory.league_games("key 0", "another league") == []
    memory.close()


@in_virtual_time
async def test_the_longer_a_memory_the_more_rarely_its_file_is_written(home: Path) -> None:
    memory = remembered(home)
    for number in range(100):
        memory.record_game(record("key", f"R{number}M1", "WIN"))
    await asyncio.sleep(SAVE_INTERVAL_SECONDS + 1)
    assert len(saved(home)["matches"]) == 100
    memory.record_game(record("key", "R100M1", "WIN"))
    await asyncio.sleep(SAVE_INTERVAL_SECONDS + 1)
    assert len(saved(home)["matches"]) == 100
    await asyncio.sleep(100 * SAVE_DELAY_PER_GAME)
    assert len(saved(home)["matches"]) == 101
    memory.close()


async def test_at_the_end_of_a_league_the_file_is_up_to_date(home: Path) -> None:
    async with chair(home) as seat:
        await seat.plays("R1M1")
        champion = {"player_id": "P02", "display_name": "Beta", "points": 3}
        notice = seat.manager.build_message(
            "LEAGUE_COMPLETED", total_rounds=1, total_matches=1, champion=champion, final_standings=[]
        )
        assert await seat.call("notify_league_completed", notice) == {"status": "ok"}
        assert [match["match_id"] for match in saved(home)["matches"]] == ["R1M1"]


@pytest.mark.parametrize("season", ["key", None])
async def test_a_kill_between_the_file_and_the_end_of_the_journal_counts_nothing_twice(
    home: Path, season: str | None
) -> None:
    memory = remembered(home)
    for number in range(1, 4):
        memory.record_game(record(season, f"R{number}M1", "WIN"))
    journal = journal_of(home).read_bytes()
    memory.close()
    assert not journal_of(home).exists()
    journal_of(home).write_bytes(journal)
    again = remembered(home)
    assert [game.match_id for game in again.games] == ["R1M1", "R2M1", "R3M1"]
    assert again.opponents["P02"].games == 3
    again.record_game(record(season, "R4M1", "DRAW"))
    assert [game.match_id for game in remembered(home).games] == ["R1M1", "R2M1", "R3M1", "R4M1"]
    again.close()


@pytest.mark.parametrize(
    "line",
    [
        b"7",
        b"{}",
        b'{"number": "1", "game": {}}',
        b'{"number": 9, "game": null}',
        b'{"number": 9, "game": {"match_id": 1}}',
    ],
)
async def test_a_spoilt_journal_does_not_stop_a_player(home: Path, line: bytes) -> None:
    memory = remembered(home)
    memory.record_game(record("key", "R1M1", "WIN"))
    with journal_of(home).open("ab") as file:
        file.write(line + b"\n")
    assert [game.match_id for game in remembered(home).games] == ["R1M1"]
    memory.close()


async def test_a_memory_does_not_grow_without_end(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_league.players.history.MAX_GAMES", 20)
    monkeypatch.setattr("agent_league.players.history.FORGET_BATCH_SIZE", 5)
    memory = remembered(home)
    for number in range(1, 101):
        memory.record_game(record("key", f"R{number}M1", "WIN"))
        assert len(memory.games) < 25
        assert len(memory._games_by_key) == len(memory.games)
    assert memory.games[-1].match_id == "R100M1"
    assert [game.match_id for game in remembered(home).games] == [game.match_id for game in memory.games]
    memory.close()
    assert (saved(home)["total"], len(saved(home)["matches"])) == (100, len(memory.games))
    assert [game.match_id for game in remembered(home).games] == [game.match_id for game in memory.games]


async def test_a_namesakes_journal_is_not_ours(home: Path) -> None:
    memory = remembered(home)
    memory.record_game(record("key", "R1M1", "WIN"))
    memory.close()
    memory.record_game(record("key", "R2M1", "WIN"))
    other = PlayerHistory("P01", "Somebody else", home, JsonLogger("P01", log_root=home / "logs"))
    assert not other.games
    memory.close()


async def test_a_namesakes_journal_alone_is_not_ours_and_stays_beside(home: Path) -> None:
    memory = remembered(home)
    memory.record_game(record("key", "R1M1", "WIN"))  # and then a kill: there is no file yet
    other = PlayerHistory("P01", "Somebody else", home, JsonLogger("P01", log_root=home / "logs"))
    assert not other.games
    aside = journal_of(home).with_name("history-1.journal.jsonl")
    assert "R1M1" in aside.read_text()
    memory._journal.close()
    memory._projection.cancel_write()


DAMAGED: dict[str, bytes] = {
    "empty": b"",
    "cut off": b'{"matches": [{"match_id": "R1',
    "not UTF-8": b"\xff\xfe\x00",
    "a list": b"[1, 2]",
    "a number": b"7",
    "null": b"null",
    "matches are null": b'{"matches": null}',
    "matches are an object": b'{"matches": {"R1M1": 1}}',
    "matches are numbers": b'{"matches": [1, null, "x", [], {}]}',
    "fields of other types": json.dumps(
        {
            "matches": [
                {"match_id": ["R1M1"], "game_type": "even_odd", "opponent_id": "P02", "outcome": "WIN"},
                {"match_id": "R1M1", "game_type": "even_odd", "opponent_id": {}, "outcome": "WIN"},
                {"match_id": "R1M1", "game_type": "even_odd", "opponent_id": "P02", "outcome": []},
                {"match_id": "R1M1", "game_type": "even_odd", "opponent_id": "P02", "outcome": "WIN", "my_moves": 7},
                {"match_id": "R1M1", "game_type": "g", "opponent_id": "P02", "outcome": "WIN", "league_id": []},
            ]
        }
    ).encode(),
}


@pytest.mark.parametrize("damage", DAMAGED)
async def test_a_damaged_history_does_not_stop_the_player(home: Path, damage: str) -> None:
    path = home / "data/players/P01/history.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(DAMAGED[damage])
    async with chair(home) as seat:
        assert (await seat.state())["stats"]["played"] == 0
        await seat.plays("R1M1")
    assert saved(home)["stats"]["played"] == 1


async def test_of_a_damaged_history_what_can_be_read_is_kept(home: Path) -> None:
    async with chair(home) as seat:
        await seat.plays("R1M1")
    content = saved(home)
    content["matches"][0]["a field of a later version"] = 1
    content["matches"].append("rubbish")
    (home / "data/players/P01/history.json").write_text(json.dumps(content))
    async with chair(home) as seat:
        assert [match["match_id"] for match in (await seat.state())["matches"]] == ["R1M1"]


async def test_a_history_that_cannot_be_written_does_not_stop_the_player(home: Path) -> None:
    (home / "data").mkdir(exist_ok=True)
    (home / "data/players").write_text("a file where a folder should be")
    async with chair(home) as seat:
        await seat.plays("R1M1")
        assert (await seat.state())["stats"]["played"] == 1
    assert "write_failed" in seat.events()


async def test_a_result_without_an_invitation_is_remembered_with_the_opponent_from_the_choices(home: Path) -> None:
    async with chair(home) as seat:
        await seat.call("notify_match_result", game_over("R1M1", choices={"P01": "even", "P07": "odd"}))
        await seat.call("notify_match_result", game_over("R2M1", choices={}))
        matches = (await seat.state())["matches"]
    assert [(match["opponent_id"], match["opponent_moves"]) for match in matches] == [("P07", ["odd"]), ("unknown", [])]


async def test_the_moves_of_a_longer_game_are_all_remembered(home: Path) -> None:
    async with chair(home, game_types=("nim",)) as seat:
        await seat.call("handle_game_invitation", invitation(game_type="nim"))
        over = game_over(choices={"P01": [1, 2], "P02": [3]})
        await seat.call("notify_match_result", {**over, "game_type": "nim"})
        (match,) = (await seat.state())["matches"]
    assert (match["game_type"], match["my_moves"], match["opponent_moves"]) == ("nim", [1, 2], [3])


async def test_a_technical_loss_of_both_is_a_technical_loss(home: Path) -> None:
    async with chair(home) as seat:
        await seat.call("notify_match_result", game_over(winner=None, status="TECHNICAL_LOSS", choices={}))
        assert (await seat.state())["stats"]["technical_losses"] == 1


async def test_a_win_over_one_who_failed_is_a_win(home: Path) -> None:
    async with chair(home) as seat:
        await seat.call("notify_match_result", game_over(winner="P01", status="TECHNICAL_LOSS"))
        assert (await seat.state())["stats"]["wins"] == 1


async def test_the_opponent_is_known_from_the_invitation_where_the_result_names_nobody(home: Path) -> None:
    async with chair(home) as seat:
        await seat.call("handle_game_invitation", invitation("R1M1", "P04"))
        await seat.call("notify_match_result", game_over("R1M1", status="TECHNICAL_LOSS", choices={}))
        (match,) = (await seat.state())["matches"]
    assert (match["opponent_id"], match["opponent_moves"]) == ("P04", [])


async def test_a_player_of_another_name_under_the_same_id_starts_afresh_and_nothing_is_lost(home: Path) -> None:
    async with chair(home, display_name="First") as seat:
        await seat.plays("R1M1")
    async with chair(home, display_name="Second") as seat:
        assert (await seat.state())["stats"]["played"] == 0
        await seat.plays("R2M1")
    assert [match["match_id"] for match in saved(home)["matches"]] == ["R2M1"]
    aside = json.loads((home / "data/players/P01/history-1.json").read_text())
    assert (aside["display_name"], len(aside["matches"])) == ("First", 1)


async def test_a_match_that_turns_out_to_be_void_is_taken_back_and_counts_for_nothing(home: Path) -> None:
    async with chair(home, Fixed("even")) as seat:
        await seat.plays("R1M1", "P02", winner="P02")
        void = game_over("R1M1", status="TECHNICAL_LOSS", winner_player_id=None, reason="void: counts for nobody")
        for _ in range(2):
            assert await seat.call("notify_match_result", void) == {"status": "ok"}
        state = await seat.state()
    assert [match["outcome"] for match in state["matches"]] == ["VOID"]
    assert state["stats"] == dict.fromkeys(("played", "wins", "draws", "losses", "technical_losses"), 0)


async def test_what_a_player_refused_about_a_match_is_in_its_state_each_kind_once_and_bounded(home: Path) -> None:
    async with chair(home) as seat:
        for _ in range(3):
            await seat.call("choose_parity", {**parity_call("R1M1"), "timestamp": "yesterday"})
        (refused,) = (await seat.state())["refusals"]
        assert (refused["match_id"], refused["method"], refused["error_code"]) == ("R1M1", "choose_parity", "E021")
        assert "timestamp" in refused["message"]
        for number in range(200):
            await seat.call("choose_parity", {**parity_call(f"X{number}"), "timestamp": "yesterday"})
        assert len((await seat.state())["refusals"]) == 50
