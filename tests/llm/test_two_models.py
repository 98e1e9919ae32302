"""A league of two different models, one of them hostile, each agent a process of its own: it ends, with right sums."""

import asyncio
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="needs the extra agent-league[llm]")
pytest.importorskip("openai", reason="needs the extra agent-league[llm]")

from tests.cli.command import league, league_process, ports
from tests.llm.hostile_server import TRICKS, plays_first_move, plays_tricks
from tests.llm.openai_server import TOKENS, ModelServer, model_server
from tests.llm.test_league import assert_verified, configure, match_files, usages

PRICE = {"input": 100.0, "output": 1000.0}
COST = (TOKENS["prompt_tokens"] * 100 + TOKENS["completion_tokens"] * 1000) / 1e6
SECRETS = ("sk-hostile-1", "<script>alert")


async def play(home: Path, good: ModelServer, hostile: ModelServer) -> dict[str, Any]:
    """Plays a league of four, two of each model, and returns what the command prints."""
    models = {
        "good": {"base_url": good.base_url, "price": PRICE},
        "hostile": {"base_url": hostile.base_url, "move_sec": 1, "max_tokens": 200_000},
    }
    configure(home, models=models, reasoning=True, fallback="always_even")
    args = ["run", "--home", home, "--players", 4, "--referees", 2, "--strategy", "llm:good,llm:hostile", "--seed", 7]
    done = await asyncio.to_thread(league_process, *args, "--game", "tic_tac_toe", *ports(4, 2), "--json")
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


async def test_a_league_of_two_models_one_of_them_hostile_ends_with_right_sums(home: Path) -> None:
    async with model_server(plays_first_move(TOKENS)) as good, model_server(plays_tricks()) as hostile:
        told = await play(home, good, hostile)
    assert len(hostile.asked) > len(TRICKS), "every trick was played"
    assert (told["rounds"], told["matches"], told["broken_off"]) == (3, 6, {})
    assert sum(row["played"] for row in told["standings"]) == 12
    assert_verified(home, 6)

    models = told["models"]
    assert set(models) == {"P01", "P02", "P03", "P04"}
    for player_id in ("P01", "P03"):
        moves = len(usages(home, player_id))
        used = models[player_id]
        assert (used["model"], used["moves"], used["fallback_moves"]) == ("good", moves, 0)
        assert (used["input_tokens"], used["output_tokens"]) == (
            moves * TOKENS["prompt_tokens"],
            moves * TOKENS["completion_tokens"],
        )
        assert used["cost_usd"] == pytest.approx(moves * COST)
        assert (used["illegal_answers"], used["late_answers"], used["unpriced_moves"]) == (0, 0, 0)
    assert models["P01"]["moves"] + models["P03"]["moves"] == len(good.asked)
    for player_id in ("P02", "P04"):
        used, said = models[player_id], usages(home, player_id)
        assert (used["model"], used["moves"]) == ("hostile", len(said))
        assert used["fallback_moves"] == sum(usage["fallback"] is not None for usage in said) > 0
        for name in ("input_tokens", "output_tokens", "illegal_answers", "late_answers"):
            assert used[name] == sum(usage[name] for usage in said)
        assert used["cost_usd"] is None
    assert sum(models[one]["illegal_answers"] for one in ("P02", "P04")) > 0
    assert sum(models[one]["late_answers"] for one in ("P02", "P04")) > 0
    failed = [line for path in match_files(home) for line in json.loads(path.read_text())["transcript"]]
    assert [line for line in failed if line["direction"] == "failed"] == [], "nobody was late for a referee"

    shown = await asyncio.to_thread(league, "show", "standings", "--home", home)
    assert "Language models" in shown.stdout
    assert f"${models['P01']['cost_usd']:.4f}" in shown.stdout
    exported = await asyncio.to_thread(league, "export", "--home", home, "--csv", "-", "--table", "models")
    rows = {row["player_id"]: row for row in csv.DictReader(io.StringIO(exported.stdout))}
    assert {one: int(row["input_tokens"]) for one, row in rows.items()} == {
        one: used["input_tokens"] for one, used in models.items()
    }
    site = home.parent / "site"
    await asyncio.to_thread(league, "export", "--home", home, "--html", site)
    page = (site / "players" / "P01.html").read_text(encoding="utf-8")
    assert "Its language model" in page
    assert f"${models['P01']['cost_usd']:.4f}" in page
    pages = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.html"))
    assert not any(secret in pages for secret in SECRETS)
