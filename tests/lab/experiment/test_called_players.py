"""Players that are called: language models and players at addresses. Their rows say that they don't repeat."""

import asyncio
from pathlib import Path

import pytest

from agent_league.errors import ConfigError, UserError
from agent_league.lab import Experiment
from agent_league.lab.experiment.calls import CallSettings
from tests.conftest import free_ports
from tests.lab.experiment.conftest import WriteFile
from tests.lab.test_evaluation import our_player
from tests.llm.openai_server import TOKENS, chooses, hangs, model_server, says

SECRET = "sk-very-secret-1234567890"
SEEDS = 24
"""More meetings than are played at the same time, each with the whole budget."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def write_model(base_url: str, settings: str = "", seeds: int = 3) -> str:
    model = f'base_url = "{base_url}"{settings}'
    return f"""
        games = ["nim"]
        players = ["random", {{ player = "llm:small", parameters = {{ {model} }} }}]
        seeds = {seeds}
    """


async def test_a_model_plays_and_its_key_is_written_nowhere(
    write_file: WriteFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)
    async with model_server(chooses(1)) as server:
        text = write_model(server.base_url, ', api_key_variable = "MY_KEY"')
        experiment = Experiment.from_file(write_file(text))
        results = await asyncio.to_thread(experiment.run, tmp_path / "out")
    assert set(server.keys) == {f"Bearer {SECRET}"}
    results.write_csv()
    results.write_report()
    rows = list(results.rows())
    assert len(rows) == 6
    assert not any(row.repeatable for row in rows)
    assert all((row.first_tokens if row.first == "llm:small" else row.second_tokens) for row in rows)
    (cost,) = [cost for cost in results.summary.costs if cost.tokens is not None]
    assert cost.tokens == 128 * len(server.asked)
    for path in (tmp_path / "out").iterdir():
        assert SECRET.encode() not in path.read_bytes(), path
    assert SECRET not in repr(experiment.resolved)


def test_a_variable_for_a_models_key_that_isnt_set_is_named_at_the_start(
    write_file: WriteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    text = write_model("http://127.0.0.1:9/v1", ', api_key_variable = "MY_KEY"')
    wanted = "players.1: strategy llm: api_key_variable: small at http://127.0.0.1:9/v1 is to have its key from there, "
    with pytest.raises(ConfigError, match=f"{wanted}and the environment variable MY_KEY is not set; set it, or leave"):
        Experiment.from_file(write_file(text))


async def test_a_model_that_has_spent_its_budget_ends_and_goes_on_with_a_larger_one(
    write_file: WriteFile, tmp_path: Path
) -> None:
    async with model_server(chooses(1)) as server:
        remarks: list[str] = []
        patient = ", output_tokens = 10, move_sec = 300"
        limits = ", max_tokens = 2500" + patient
        poor = Experiment.from_file(write_file(write_model(server.base_url, limits, seeds=SEEDS)))
        for _ in range(2):
            results = await asyncio.to_thread(poor.run, tmp_path / "out", remark=remarks.append)
            asked = len(server.asked)
            assert 0 < sum(1 for _ in results.rows()) < 2 * SEEDS
            assert not results.summary.is_finished
            assert f"llm:small has used {asked * TOKENS['total_tokens']:,} tokens (max_tokens = 2500)" in remarks[-1]
            assert "Raise it in the file to go on." in remarks[-1]
        assert [remark for remark in remarks if "has used" in remark] == remarks[-1:] * 2, "nothing more was asked"
        rich = Experiment.from_file(write_file(write_model(server.base_url, patient, seeds=SEEDS)))
        assert rich.resolved.content_hash == poor.resolved.content_hash
        results = await asyncio.to_thread(rich.run, tmp_path / "out")
    assert sum(1 for _ in results.rows()) == 2 * SEEDS
    assert results.summary.is_finished


async def test_the_report_counts_answers_that_were_of_no_use(write_file: WriteFile, tmp_path: Path) -> None:
    answers = (chooses(1), says("hm"), chooses(1), hangs, chooses(1))
    price = ", move_sec = 1, price = { input = 1000, output = 1000 }, max_cost_usd = 100"
    async with model_server(*answers) as server:
        experiment = Experiment.from_file(write_file(write_model(server.base_url, price, seeds=1)))
        results = await asyncio.to_thread(experiment.run, tmp_path / "out")
    (cost,) = [cost for cost in results.summary.costs if cost.tokens is not None]
    assert (cost.illegal, cost.late) == (1, 1)
    assert cost.cost is not None
    assert cost.cost >= 0.128 * (len(server.asked) - 2)
    results.write_report()
    assert "1 illegal and 1 late answers" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")


async def test_moves_that_a_model_doesnt_make_are_faults(write_file: WriteFile, tmp_path: Path) -> None:
    text = write_model("http://127.0.0.1:9/v1", ", move_sec = 1", seeds=1)
    results = await asyncio.to_thread(Experiment.from_file(write_file(text)).run, tmp_path / "out")
    assert all((row.first_faults if row.first == "llm:small" else row.second_faults) for row in results.rows())
    (note,) = results.summary.notes
    assert note.player == "llm:small"
    assert note.sentence.startswith("another strategy moved for it: ")


async def test_running_players_meet_ours_and_each_other(home: Path, write_file: WriteFile, tmp_path: Path) -> None:
    port = free_ports(3)
    manager = f"http://localhost:{port + 2}/mcp"
    text = f"""
        games = ["even_odd"]
        players = ["random", "localhost:{port}", {{ player = "http://localhost:{port + 1}/mcp", name = "old" }}]
        seeds = 2
    """
    experiment = Experiment.from_file(write_file(text))
    calls = CallSettings(manager_port=port + 2)
    async with our_player(home, port, manager), our_player(home, port + 1, manager, display_name="Old"):
        results = await asyncio.to_thread(experiment.run, tmp_path / "out", calls=calls)
    rows = list(results.rows())
    assert len(rows) == 3 * 2 * 2
    assert [(row.first, row.second) for row in rows[:2]] == [
        ("random", f"localhost:{port}"),
        (f"localhost:{port}", "random"),
    ]
    assert not any(row.repeatable or row.first_faults for row in rows)
    assert all(row.first_seconds for row in rows)


async def test_an_address_where_nobody_is_is_named_and_keeps_what_was_played(
    write_file: WriteFile, tmp_path: Path
) -> None:
    text = 'games = ["nim"]\nplayers = ["random", "markov", "localhost:9"]\nseeds = 2\n'
    experiment = Experiment.from_file(write_file(text))
    calls = CallSettings(wait_seconds=0.1, manager_port=free_ports(1))
    with pytest.raises(UserError, match="no player at http://localhost:9/mcp"):
        await asyncio.to_thread(experiment.run, tmp_path / "out", calls=calls)
    with pytest.raises(UserError, match="no player at"):
        await asyncio.to_thread(experiment.run, tmp_path / "out", calls=calls)
