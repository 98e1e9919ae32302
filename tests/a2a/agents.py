"""A2A agents on the SDK's own server, over HTTP, in the forms that agents have: what they reply, and how they do it.

They live in a process of their own, which is told on its standard input which agents to open, and answers there what
they were told.
"""

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from a2a.helpers import get_data_parts, new_data_part, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCard, Message, Part, Role
from google.protobuf.json_format import ParseDict
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_league.http.server import HttpServer

ROOT = Path(__file__).parents[2]
Told = dict[str, Any]
"""One message that an agent got: `data`, `text`, `context_id`, and whether it is `new` or for a task that waits."""


def make_card(
    port: int, interfaces: Sequence[tuple[str, str]] = (("JSONRPC", "1.0"),), *, streaming: bool = False, **more: Any
) -> dict[str, Any]:
    """The card of the agent at a port; `interfaces` are bindings with versions."""
    return {
        "name": "Foreign Agent",
        "description": "Plays.",
        "version": "3.1.0",
        "supportedInterfaces": [
            {"url": f"http://localhost:{port}/", "protocolBinding": binding, "protocolVersion": version}
            for binding, version in interfaces
        ],
        "capabilities": {"streaming": streaming},
        "defaultInputModes": ["application/json"],
        "defaultOutputModes": ["application/json"],
        "skills": [{"id": "play", "name": "Play", "description": "Plays.", "tags": ["games"]}],
        **more,
    }


def wanting(**scheme: Any) -> dict[str, Any]:
    """The fields of a card that asks for one scheme, such as `httpAuthSecurityScheme={"scheme": "Bearer"}`."""
    return {"securitySchemes": {"lock": scheme}, "securityRequirements": [{"schemes": {"lock": {}}}]}


@dataclass
class PlayingExecutor(AgentExecutor):
    """Replies as `form` says, with the next of `answers`: texts, data, or None for the first legal move."""

    form: str
    answers: list[Any]
    told: list[Told] = field(default_factory=list)

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        message = context.message
        assert message
        data, text = get_data_parts(message.parts)[0], next(part.text for part in message.parts if part.text)
        task = context.current_task
        self.told.append({"data": data, "text": text, "context_id": context.context_id, "new": task is None})
        over = data["kind"] == "match_over"
        part = new_text_part("thanks") if over else self._choose(data)
        if self.form == "message":
            reply = Message(message_id="1", role=Role.ROLE_AGENT, parts=[part], context_id=context.context_id)
            await event_queue.enqueue_event(reply)
            return
        if task is None:
            task = new_task_from_user_message(message)
            await event_queue.enqueue_event(task)
        await self._reply(TaskUpdater(event_queue, task.id, task.context_id), part, over=over)

    def _choose(self, asked: dict[str, Any]) -> Part:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is None:
            return new_data_part({"move": asked["legal_moves"][0]})
        return new_text_part(answer) if isinstance(answer, str) else new_data_part(answer)

    async def _reply(self, talk: TaskUpdater, part: Part, *, over: bool) -> None:
        if self.form == "input_required" and not over:
            await talk.requires_input(talk.new_agent_message([part]))
        elif self.form == "pieces" and not over:
            await talk.start_work(talk.new_agent_message([new_text_part("thinking")]))
            for at, letter in enumerate(part.text):
                await talk.add_artifact([new_text_part(letter)], artifact_id="move", append=at > 0)
            await talk.complete()
        elif self.form == "slow" and not over:
            await talk.start_work()
            await asyncio.sleep(0.05)
            await talk.requires_input(talk.new_agent_message([part]))
        elif self.form == "silent" and not over:
            await asyncio.sleep(3600)
        elif self.form == "failed":
            await talk.failed(talk.new_agent_message([new_text_part("no idea\x1b[31m")]))
        else:
            await talk.complete(talk.new_agent_message([part]))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()


async def serve_agent(spec: dict[str, Any]) -> tuple[int, list[Told]]:
    """Serves an agent for as long as the process lives; returns its port, and what it will be told."""
    inner: ASGIApp
    key = spec.get("key")

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        if key and not scope["path"].startswith("/.well-known") and headers.get(key[0]) != key[1]:
            await send({"type": "http.response.start", "status": spec.get("status", 401), "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await inner(scope, receive, send)

    server = HttpServer(app, "127.0.0.1", 0, "an agent")
    executor = PlayingExecutor(spec.get("form", "input_required"), spec.get("answers", [None]))
    card = ParseDict(make_card(server.port, **spec.get("card", {})), AgentCard())
    handler = DefaultRequestHandler(executor, InMemoryTaskStore(), card)
    inner = Starlette(
        routes=[
            *create_agent_card_routes(card),
            *create_jsonrpc_routes(handler, "/", enable_v0_3_compat=True),
            *create_rest_routes(handler, enable_v0_3_compat=True),
        ]
    )
    await server.start()
    return server.port, executor.told


async def serve_orders() -> None:
    told: dict[int, list[Told]] = {}
    while line := await asyncio.to_thread(sys.stdin.readline):
        order = json.loads(line)
        if "told" in order:
            answer: Any = told[order["told"]]
        else:
            answer, heard = await serve_agent(order)
            told[answer] = heard
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


@dataclass(frozen=True, slots=True)
class RunningAgent:
    """An agent of the other process."""

    process: "AgentProcess"
    port: int

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    @property
    def told(self) -> list[Told]:
        heard: list[Told] = self.process.order({"told": self.port})
        return heard

    @property
    def questions(self) -> list[Told]:
        return [told for told in self.told if told["data"]["kind"] == "move_request"]


class AgentProcess:
    """The process in which agents live."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def open(self, form: str = "input_required", answers: Sequence[Any] = (None,), **more: Any) -> RunningAgent:
        """Opens an agent; `card` has the arguments of `make_card`, `key` a header and its value that it insists on."""
        return RunningAgent(self, self.order({"form": form, "answers": list(answers), **more}))

    def order(self, wanted: dict[str, Any]) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(wanted) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@contextmanager
def agent_process() -> Iterator[AgentProcess]:
    command = [sys.executable, "-m", "tests.a2a.agents"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield AgentProcess(process)
        finally:
            process.kill()


def await_port(port: int, process: "subprocess.Popen[Any]") -> None:
    """Wait until somebody listens, as long as the process lives."""
    while process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(process.communicate()[0])


if __name__ == "__main__":
    asyncio.run(serve_orders())
