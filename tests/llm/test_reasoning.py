"""Why a model plays a move: kept on request, bounded and escaped, and shown only after the match."""

import html
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="needs the extra agent-league[llm]")
pytest.importorskip("openai", reason="needs the extra agent-league[llm]")

import httpx2
from aiohttp import web

from agent_league.protocol.v2 import MAX_REASONING
from tests.cli.command import league
from tests.conftest import PlanMaker
from tests.launch.scripted_guests import hosted
from tests.llm.openai_server import TOKENS, Answer, Body, ModelServer, completion, model_server, says
from tests.llm.test_league import assert_verified, configure, four_of, match_files
from tests.llm.test_thinking import thought

WHY = "I know <b>their</b> habit & play\nagainst it\x1b[31m"
SHOWN = "I know <b>their</b> habit & play\nagainst it\\x1b[31m"


def explains(move: Any, why: Any) -> Answer:
    return says(json.dumps({"reasoning": why, "move": move}))


async def test_reasons_are_asked_for_on_request_and_printable() -> None:
    found, server = await thought(explains("odd", WHY), reasoning=True)
    assert (found.move, found.reasoning) == ("odd", SHOWN)
    assert '"reasoning": "..."' in server.texts(0, "system")[0]
    assert server.asked[0]["response_format"]["json_schema"]["schema"]["required"] == ["reasoning", "move"]


async def test_without_a_request_nothing_is_asked_for_or_kept() -> None:
    found, server = await thought(explains("odd", WHY))
    assert (found.move, found.reasoning) == ("odd", None)
    assert "reasoning" not in json.dumps(server.asked)


async def test_what_a_model_thought_by_itself_is_kept_where_it_gives_no_reasons() -> None:
    async def thinks(_server: ModelServer, _body: Body, _request: web.Request) -> web.StreamResponse:
        return completion({"content": '{"move": "odd"}', "reasoning_content": "odd is due"}, "stop", TOKENS)

    found, _ = await thought(thinks, reasoning=True)
    assert (found.move, found.reasoning) == ("odd", "odd is due")


async def test_words_before_the_answer_are_its_reasons() -> None:
    found, _ = await thought(says('Odd is due.\n{"move": "odd"}'), reasoning=True)
    assert (found.move, found.reasoning) == ("odd", "Odd is due.")


@pytest.mark.parametrize("why", ["", None, 5, ["x"]])
async def test_reasons_that_are_none_are_left_out(why: Any) -> None:
    found, _ = await thought(explains("odd", why), reasoning=True)
    assert (found.move, found.reasoning) == ("odd", None)


async def test_long_reasons_are_cut_and_tokens_struck_out() -> None:
    found, _ = await thought(explains("odd", "tok-p01-abcdefghijkl " + "x" * 100_000), reasoning=True)
    assert found.reasoning is not None
    assert len(found.reasoning) == MAX_REASONING
    assert "abcdefghijkl" not in found.reasoning


async def test_the_fallbacks_move_has_no_reasons_of_the_model() -> None:
    found, _ = await thought(explains("neither", WHY), reasoning=True)
    assert (found.move, found.reasoning) == ("even", None)


async def test_reasons_are_in_the_match_file_and_on_its_page_after_the_end_only(home: Path, plan: PlanMaker) -> None:
    seen: list[str] = []
    ports: list[int] = []

    async def look(server: ModelServer, body: Body, request: web.Request) -> web.StreamResponse:
        """Looks, before each move, at everything that anybody can see of the matches of this round."""
        async with httpx2.AsyncClient() as http:
            for port in ports[1:3]:
                call = {"jsonrpc": "2.0", "id": 1, "method": "get_match_state"}
                for number in (1, 2):
                    params = {"match_id": f"R1M{number}"}
                    seen.append((await http.post(f"http://127.0.0.1:{port}/mcp", json={**call, "params": params})).text)
        told = body["messages"][1]["content"]
        move = json.loads(told.split('source="options">\n')[1].split("\n")[0])[0][0]
        return await explains(move, WHY)(server, body, request)

    async with model_server(look) as server:
        configure(home, model="small-model", base_url=server.base_url, reasoning=True)
        made = four_of(plan, ("llm", "random"), game="tic_tac_toe")
        ports += [seat.port for seat in made.agent_plans]
        async with hosted(made, 0) as watched:
            await watched.completed()
            async with httpx2.AsyncClient() as http:
                page = (await http.get(f"http://127.0.0.1:{ports[0]}/matches/R1M1")).text
    states = [(json.loads(text).get("result", {}).get("state"), "habit" in text) for text in seen]
    assert ("COLLECTING_CHOICES", False) in states
    assert ("COLLECTING_CHOICES", True) not in states
    assert ("FINISHED", True) in states
    assert html.escape(SHOWN) in page.replace("&#39;", "&#x27;")
    assert "Why, as the player says" in page
    assert "<b>their" not in page
    lines = [line for path in match_files(home) for line in json.loads(path.read_text())["transcript"]]
    kept = [line["message"]["reasoning"] for line in lines if "reasoning" in (line.get("message") or {})]
    assert len(kept) == len(server.asked)
    assert set(kept) == {SHOWN}
    assert_verified(home, 6)
    printed = league("replay", "R1M1", "--home", home, "--conversation")
    assert "it says: against it\\x1b[31m" in printed.stdout
