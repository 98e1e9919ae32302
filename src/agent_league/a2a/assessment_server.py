"""The league as a green agent of AgentBeats: an A2A server that takes an assessment and answers with its ratings.

Owns the card, the task and its artifact; what is played is a callback's. A request that can't be played is refused
before there is a task, so that nothing is kept for it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import orjson
from a2a.helpers import get_text_parts, new_data_part, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskStore, TaskUpdater
from a2a.types import AgentCard
from a2a.utils.errors import InvalidParamsError, TaskNotCancelableError, UnsupportedOperationError
from google.protobuf.json_format import ParseDict
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_league.a2a.data_parts import read_data_parts
from agent_league.errors import AgentLeagueError, UserError
from agent_league.http.carrier import MAX_BODY, RequestRejected
from agent_league.http.header_check import HeaderCheck
from agent_league.http.request_body import read_body, replay_body
from agent_league.text import MAX_SENTENCE, shorten, to_printable

MAX_ASSESSMENTS = 2
"""Assessments at the same time; further ones are refused, and may come again."""
MAX_KEPT_TASKS = 200
"""Tasks that are kept, each with its artifact: those that ended first are forgotten, and all with a restart."""
ARTIFACT_NAME = "ratings"
EXPECTED = 'expected {"participants": {"ROLE": "ADDRESS OF ITS AGENT"}, "config": {...}} as a data part or as text'

CheckRequest = Callable[[Any], Any]
"""Checks what was sent and returns it as an assessment; raises UserError."""
PlayAssessment = Callable[[Any, str, Callable[[str], None]], Coroutine[Any, Any, dict[str, Any]]]
"""Plays a checked assessment under an id, with a callback for its progress; raises AgentLeagueError."""


def build_assessor_card(url: str, version: str) -> dict[str, Any]:
    """Build the card of the league as an assessor at an address."""
    return {
        "name": "Agent League",
        "description": "Assesses agents in games against each other: plays a league and answers with ratings.",
        "version": version,
        "supportedInterfaces": [
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": version_} for version_ in ("1.0", "0.3")
        ],
        "capabilities": {"streaming": True},
        "defaultInputModes": ["application/json", "text/plain"],
        "defaultOutputModes": ["application/json", "text/plain"],
        "skills": [
            {
                "id": "assess",
                "name": "Play a league",
                "description": "Takes participants (role and address of an A2A agent) and config (game, parameters, "
                "format, opponents, seed); answers with standings, ratings and matches as an artifact.",
                "tags": ["assessment", "green agent", "games"],
                "examples": [
                    '{"participants": {"white": "http://localhost:9001"}, "config": {"opponents": ["random"]}}'
                ],
            }
        ],
    }


class AssessmentExecutor(AgentExecutor):
    """Runs assessments as tasks: working while the league is played, then completed with an artifact."""

    def __init__(self, check: CheckRequest, play: PlayAssessment, store: TaskStore) -> None:
        self._check = check
        self._play = play
        self._store = store
        self._running: dict[str, asyncio.Task[dict[str, Any]]] = {}
        self._ended: deque[str] = deque()
        """The tasks that are over and kept, by their ids."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        if context.message is None or context.current_task is not None:
            raise UnsupportedOperationError("an assessment is one message; send another one for another assessment")
        try:
            wanted = self._check(_read_request(context))
        except UserError as error:
            raise InvalidParamsError(_show(error)) from None
        if len(self._running) >= MAX_ASSESSMENTS:
            raise UnsupportedOperationError(f"{len(self._running)} assessments are being played; come again later")
        try:
            task = new_task_from_user_message(context.message)
        except ValueError as error:
            raise InvalidParamsError(_show(error)) from None
        progress: asyncio.Queue[str] = asyncio.Queue()
        playing = asyncio.create_task(self._play(wanted, task.id, progress.put_nowait))
        self._running[task.id] = playing  # before anything is awaited, or more would pass the limit together
        try:
            await self._make_room(context.call_context)
            await event_queue.enqueue_event(task)
            talk = TaskUpdater(event_queue, task.id, task.context_id)
            await talk.start_work(talk.new_agent_message([new_text_part("The league is being played.")]))
            await _tell_progress(talk, playing, progress)
            await _tell_result(talk, playing)
        finally:
            playing.cancel()
            del self._running[task.id]
            self._ended.append(task.id)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        playing = self._running.get(context.task_id or "")
        if playing is None:
            raise TaskNotCancelableError
        playing.cancel()
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()

    async def _make_room(self, caller: ServerCallContext) -> None:
        """Forget the tasks that ended first, as far as there are too many."""
        while self._ended and len(self._ended) + len(self._running) > MAX_KEPT_TASKS:
            await self._store.delete(self._ended.popleft(), caller)


async def _tell_progress(
    talk: TaskUpdater, playing: "asyncio.Task[dict[str, Any]]", progress: "asyncio.Queue[str]"
) -> None:
    """Update the task's status with each sentence, until the league is over."""
    while not playing.done():
        hearing = asyncio.create_task(progress.get())
        await asyncio.wait({playing, hearing}, return_when=asyncio.FIRST_COMPLETED)
        if hearing.done():
            await talk.start_work(talk.new_agent_message([new_text_part(hearing.result())]))
        hearing.cancel()


async def _tell_result(talk: TaskUpdater, playing: "asyncio.Task[dict[str, Any]]") -> None:
    if playing.cancelled():
        return
    if error := playing.exception():
        sentence = _show(error) if isinstance(error, AgentLeagueError) else "the assessor itself failed"
        await talk.failed(talk.new_agent_message([new_text_part(sentence)]))
        if not isinstance(error, AgentLeagueError):
            raise error
        return
    result = playing.result()
    await talk.add_artifact([new_data_part(result), new_text_part(format_table(result))], name=ARTIFACT_NAME)
    await talk.complete(talk.new_agent_message([new_text_part(f"First: {_show(', '.join(result['winners']))}.")]))


def format_table(result: Mapping[str, Any]) -> str:
    """Write the standings of an assessment as lines of text."""
    lines = []
    for row in result["standings"]:
        rating = row["rating"]
        elo = f", {rating['elo']:+.0f} Elo ({rating['low']:+.0f} to {rating['high']:+.0f})" if rating else ""
        technical = f", {row['technical_losses']} technically" if row["technical_losses"] else ""
        name = to_printable(row["role"])
        lines.append(
            f"{row['rank']}. {name}: {row['points']} points, {row['wins']} won, {row['draws']} drawn, "
            f"{row['losses']} lost{technical}{elo}"
        )
    return "\n".join([*lines, *map(to_printable, result["sentences"])])


def make_assessment_app(
    card: Mapping[str, Any], check: CheckRequest, play: PlayAssessment, header_check: HeaderCheck
) -> ASGIApp:
    """Make the server's application: the card and JSON-RPC at `/`, for requests that pass the checks of headers."""
    agent_card = ParseDict(dict(card), AgentCard())
    store = InMemoryTaskStore()
    handler = DefaultRequestHandler(AssessmentExecutor(check, play, store), store, agent_card)
    routes = [*create_agent_card_routes(agent_card), *create_jsonrpc_routes(handler, "/", enable_v0_3_compat=True)]
    inner = Starlette(routes=routes)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            fields = header_check.check_request(scope)
            if scope["method"] not in ("GET", "HEAD"):
                header_check.check_post(fields)
                receive = replay_body(await read_body(receive, MAX_BODY), receive)
        except RequestRejected as error:
            headers = [(b"content-type", b"text/plain; charset=utf-8")]
            await send({"type": "http.response.start", "status": error.status, "headers": headers})
            await send({"type": "http.response.body", "body": error.sentence.encode()})
            return
        await inner(scope, receive, send)

    return app


def _read_request(context: RequestContext) -> Any:
    """Find the request in a message: a data part, or JSON as text; raises UserError."""
    parts = context.message.parts if context.message else []
    for data in read_data_parts(parts):
        if isinstance(data, dict) and "participants" in data:
            return data
    for text in get_text_parts(parts):
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            continue
    raise UserError(f"no assessment request was found; {EXPECTED}")


def _show(said: object) -> str:
    return to_printable(shorten(said, MAX_SENTENCE))
