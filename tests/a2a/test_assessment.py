"""The league as a green agent: a process that the SDK's client asks over HTTP, and that plays and rates A2A agents."""

import asyncio
import json
import logging
import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.client import Client, ClientConfig, create_client
from a2a.helpers import get_data_parts, new_data_part, new_text_part
from a2a.types import CancelTaskRequest, Message, Part, Role, SendMessageRequest, StreamResponse, TaskState
from a2a.utils.errors import A2AError, InvalidParamsError

from agent_league.a2a import assessment_server
from agent_league.a2a.assessment_server import PlayAssessment, build_assessor_card, make_assessment_app
from agent_league.a2a.sdk_log import redirect_sdk_log
from agent_league.errors import LeagueFailed, UserError
from agent_league.http.header_check import HeaderCheck
from agent_league.lab.assessment import Assessor, parse_request
from agent_league.text import MAX_SENTENCE
from tests.a2a.agents import AgentProcess, await_port, wanting
from tests.cli.command import LEAGUE, environment, league
from tests.conftest import BOUND, free_port


@pytest.fixture(scope="module")
def assessor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A running `league assess`: its address, and where it keeps its leagues."""
    folder, port = tmp_path_factory.mktemp("assessor"), free_port()
    command = [*LEAGUE, "assess", "--port", str(port), "--out", str(folder / "kept")]
    with (
        (folder / "said").open("w") as said,
        subprocess.Popen(command, cwd=folder, env=environment(), stderr=said) as process,
    ):
        try:
            await_port(port, process)
            yield f"http://localhost:{port}", folder / "kept"
        finally:
            process.kill()


@asynccontextmanager
async def client_of(url: str) -> AsyncIterator[Client]:
    async with httpx.AsyncClient(timeout=BOUND) as http:
        yield await create_client(url, ClientConfig(httpx_client=http))


async def send(url: str, part: Part) -> list[StreamResponse]:
    async with client_of(url) as client:
        message = Message(message_id="1", role=Role.ROLE_USER, parts=[part])
        return [event async for event in client.send_message(SendMessageRequest(message=message))]


def read_end(events: list[StreamResponse]) -> tuple[int, str, dict[str, Any]]:
    """The last state with its sentence, and the data of the artifact."""
    last = [event.status_update.status for event in events if event.HasField("status_update")][-1]
    artifacts = [event.artifact_update.artifact for event in events if event.HasField("artifact_update")]
    data = get_data_parts(artifacts[0].parts)[0] if artifacts else {}
    return last.state, last.message.parts[0].text, data


@pytest.mark.parametrize("form", ["text", "data"])
async def test_an_assessment_is_played_and_answered_with_ratings(
    agents: AgentProcess, assessor: tuple[str, Path], form: str
) -> None:
    one, other = agents.open("input_required"), agents.open("message")
    request = {
        "participants": {"white": one.url, "black": other.url},
        "config": {"game": "tic_tac_toe", "opponents": ["minimax"], "format": "round_robin", "seed": 7},
    }
    part = new_text_part(json.dumps(request)) if form == "text" else new_data_part(request)
    events = await send(assessor[0], part)
    state, sentence, result = read_end(events)
    assert state == TaskState.TASK_STATE_COMPLETED
    assert result["winners"] == ["minimax (league)"]
    assert sentence == "First: minimax (league)."
    assert {row["role"] for row in result["standings"]} == {"white", "black", "minimax (league)"}
    assert [row["is_participant"] for row in result["standings"]].count(True) == 2
    assert all(row["rating"]["low"] <= row["rating"]["elo"] <= row["rating"]["high"] for row in result["standings"])
    assert all(row["technical_losses"] == 0 for row in result["standings"])
    assert len(result["matches"]) == 3
    told = [event.status_update.status.message.parts[0].text for event in events if event.HasField("status_update")]
    assert "3 matches are played" in told
    assert {told["data"]["kind"] for told in one.told} == {"move_request", "match_over"}
    task_id = next(event.task.id for event in events if event.HasField("task"))
    verified = league("verify", assessor[1] / task_id)
    assert verified.returncode == 0, verified.stdout + verified.stderr


async def test_one_agent_alone_is_assessed_against_ours_and_its_technical_losses_are_counted(
    agents: AgentProcess, assessor: tuple[str, Path]
) -> None:
    lost = agents.open(answers=["I pass"])
    request = {"participants": {"purple": lost.url}, "config": {"opponents": ["random"], "game": "even_odd"}}
    state, _, result = read_end(await send(assessor[0], new_data_part(request)))
    assert state == TaskState.TASK_STATE_COMPLETED
    [row] = [row for row in result["standings"] if row["is_participant"]]
    assert (row["role"], row["technical_losses"], row["losses"]) == ("purple", 2, 2)


LOCKED = wanting(httpAuthSecurityScheme={"scheme": "Bearer"})


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("http://169.254.169.254/", "participants.purple: the card .* not in network.allowed_hosts"),
        ("http://localhost:1/", "participants.purple: no card came from"),
        ("file:///etc/passwd", "participants.purple: the address .* is no address"),
        ("locked", "participants.purple: the card asks for authentication"),
    ],
)
async def test_a_participant_that_can_t_be_called_fails_the_assessment_with_a_sentence(
    agents: AgentProcess, assessor: tuple[str, Path], address: str, sentence: str
) -> None:
    url = agents.open(card=LOCKED).url if address == "locked" else address
    request = {"participants": {"purple": url}, "config": {"opponents": ["random"]}}
    state, told, result = read_end(await send(assessor[0], new_data_part(request)))
    assert (state, result) == (TaskState.TASK_STATE_FAILED, {})
    assert re.search(sentence, told), told
    assert "/tmp" not in told


WRONG: dict[str, tuple[Any, str]] = {
    "no JSON": ("play!", "no assessment request was found"),
    "no participants": ({"config": {}}, "no assessment request was found|participants: Field required"),
    "nobody": ({"participants": {}}, "participants: nobody is named"),
    "alone": ({"participants": {"a": "http://localhost:1"}}, "expected 2 to 32 players"),
    "a game that isn't there": (
        {"participants": {"a": "x", "b": "y"}, "config": {"game": "go"}},
        "config.game: there is no 'go'",
    ),
    "a file as a strategy": (
        {"participants": {"a": "x"}, "config": {"opponents": ["/etc/passwd.py"]}},
        "config.opponents: there is no '/etc/passwd.py'",
    ),
    "a language model of ours": (
        {"participants": {"a": "x"}, "config": {"opponents": ["llm"]}},
        "config.opponents: there is no 'llm'",
    ),
    "a setting that isn't there": (
        {"participants": {"a": "x", "b": "y"}, "config": {"store": "postgresql://"}},
        "config.store: there is no such setting; there are game, ",
    ),
    "lookalikes": ({"participants": {"white": "x", "wh\u0456te": "y"}}, "two roles look like"),
    "an invisible role": ({"participants": {"\u200b": "x", "b": "y"}}, "can't be shown as a role"),
    "too many": (
        {"participants": {"a": "x"}, "config": {"opponents": ["random"] * 40}},
        "expected 2 to 32 players",
    ),
}


@pytest.mark.parametrize("fault", WRONG)
async def test_a_wrong_request_is_refused_before_there_is_a_task(assessor: tuple[str, Path], fault: str) -> None:
    request, sentence = WRONG[fault]
    part = new_text_part(request) if isinstance(request, str) else new_text_part(json.dumps(request))
    with pytest.raises(A2AError, match=sentence):
        await send(assessor[0], part)
    printed = (assessor[1].parent / "said").read_text()
    assert len(printed.splitlines()) == 1, "the requester is told, not the terminal"


async def test_a_running_assessment_can_be_cancelled(agents: AgentProcess, assessor: tuple[str, Path]) -> None:
    request = {"participants": {"a": agents.open("silent").url}, "config": {"opponents": ["random"]}}
    async with client_of(assessor[0]) as client:
        message = Message(message_id="1", role=Role.ROLE_USER, parts=[new_data_part(request)])
        events = client.send_message(SendMessageRequest(message=message))
        task_id = ""
        async for event in events:
            if event.HasField("task"):
                task_id = event.task.id
            if event.HasField("status_update"):
                break
        task = await client.cancel_task(CancelTaskRequest(id=task_id))
    assert task.status.state == TaskState.TASK_STATE_CANCELED


async def test_foreign_pages_and_large_bodies_are_turned_away(assessor: tuple[str, Path]) -> None:
    async with httpx.AsyncClient(timeout=BOUND) as http:
        page = await http.post(assessor[0], content=b"{}", headers={"origin": "http://evil.example"})
        large = await http.post(assessor[0], content=b" " * (1024**2 + 1))
        other = await http.get(assessor[0], headers={"host": "evil.example"})
    assert (page.status_code, large.status_code, other.status_code) == (403, 413, 421)


@asynccontextmanager
async def assessor_that_plays(play: PlayAssessment) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an assessor in this process that takes every request, and does this with it."""
    card = build_assessor_card("http://localhost/", "1.0.0")
    app = make_assessment_app(card, lambda wanted: wanted, play, HeaderCheck(["localhost"], []))
    async with (
        asyncio.timeout(BOUND),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http,
    ):
        yield http


async def call(http: httpx.AsyncClient, method: str, params: str) -> dict[str, Any]:
    frame = f'{{"jsonrpc": "2.0", "id": 1, "method": "{method}", "params": {params}}}'
    headers = {"content-type": "application/json", "a2a-version": "1.0"}
    answer: dict[str, Any] = (await http.post("/", content=frame, headers=headers)).json()
    return answer


def message_of(*parts: str) -> str:
    return f'{{"message": {{"messageId": "1", "role": "ROLE_USER", "parts": [{", ".join(parts)}]}}}}'


ANY_REQUEST = '{"data": {"participants": {}}}'


async def test_the_assessment_that_ended_first_makes_room_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any) -> dict[str, Any]:
        raise UserError("nobody is there")

    monkeypatch.setattr(assessment_server, "MAX_KEPT_TASKS", 2)
    async with assessor_that_plays(fail) as http:
        ended = [(await call(http, "SendMessage", message_of(ANY_REQUEST)))["result"]["task"] for _ in range(3)]
        kept = [await call(http, "GetTask", json.dumps({"id": task["id"]})) for task in ended]
    assert {task["status"]["state"] for task in ended} == {"TASK_STATE_FAILED"}
    assert ["result" in answer for answer in kept] == [False, True, True]


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        (('{"data": {"participants": {}, "config": {"seed": 1e999}}}',), "no assessment request was found"),
        ((ANY_REQUEST, '{"text": ""}'), "text cannot be empty"),
    ],
)
async def test_a_message_that_can_t_be_kept_is_refused_as_such(parts: tuple[str, ...], sentence: str) -> None:
    async def fail(*_: Any) -> dict[str, Any]:
        raise AssertionError

    async with assessor_that_plays(fail) as http:
        error = (await call(http, "SendMessage", message_of(*parts)))["error"]
    assert (error["code"], sentence in error["message"]) == (-32602, True), error


async def test_an_assessment_ends_at_its_limit(agents: AgentProcess, tmp_path: Path) -> None:
    request = parse_request({"participants": {"a": agents.open("silent").url}, "config": {"opponents": ["random"]}})
    with pytest.raises(LeagueFailed, match="was not over after 1 s"):
        await Assessor({}, 1).play(request, tmp_path, lambda _: None)


async def test_wrong_parameters_of_a_game_are_told_without_our_folders(agents: AgentProcess, tmp_path: Path) -> None:
    config = {"opponents": ["random"], "game": "nim", "parameters": {"colour": "red"}}
    request = parse_request({"participants": {"a": agents.open().url}, "config": config})
    with pytest.raises(UserError, match="colour") as refused:
        await Assessor({}, 60).play(request, tmp_path, lambda _: None)
    assert str(tmp_path) not in str(refused.value)


def test_wrong_options_are_refused_at_the_start(tmp_path: Path) -> None:
    assert "no such setting" in league("assess", "--set", "network.colour=1", cwd=tmp_path).stderr
    for wrong in ("ftp://x", "http://me:secret@x/", "http://x/#y", "http://x/?y=1"):
        assert f"--card-url {wrong!r} is no address" in league("assess", "--card-url", wrong, cwd=tmp_path).stderr
    nowhere = league("assess", "--host", "192.0.2.1", cwd=tmp_path).stderr
    assert "league: --host 192.0.2.1: the assessor can't listen there: " in nowhere
    (tmp_path / "taken").write_text("a file")
    assert "--out taken can't be written (File exists)" in league("assess", "--out", "taken", cwd=tmp_path).stderr
    below = league("assess", "--out", "taken/below", cwd=tmp_path).stderr
    assert "--out taken/below can't be written (Not a directory); expected a folder" in below


async def test_a_folder_that_is_gone_is_told_to_the_requester_without_its_path(tmp_path: Path) -> None:
    request = parse_request({"participants": {"a": "http://localhost:1"}, "config": {"opponents": ["random"]}})
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(UserError, match="the assessor's folder: can't be written") as refused:
        await Assessor({}, 60).play(request, tmp_path / "taken" / "one", lambda _: None)
    assert str(tmp_path) not in str(refused.value)


def test_what_fails_in_the_sdk_itself_is_told_in_a_sentence() -> None:
    told: list[str] = []
    log = logging.getLogger("a2a.server")
    with redirect_sdk_log(told.append):
        for error in (InvalidParamsError("no"), ValueError("no JSON"), RuntimeError("out of room\n" * 200)):
            try:
                raise error
            except Exception:
                log.exception("Failed")
        log.warning("harmless")
    (sentence,) = told
    assert sentence.startswith("A2A: Failed: RuntimeError('out of room\\n")
    assert len(sentence) <= MAX_SENTENCE
