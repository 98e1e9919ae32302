"""A model that isn't one: a real HTTP server that speaks OpenAI's chat form and answers as it is told to."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.conftest import free_ports

Body = dict[str, Any]
Answer = Callable[["ModelServer", Body, web.Request], Awaitable[web.StreamResponse]]
TOKENS = {"prompt_tokens": 120, "completion_tokens": 8, "total_tokens": 128}


@dataclass
class ModelServer:
    """What it was asked, and how it answers: by the list, then always by its last."""

    base_url: str
    answers: Sequence[Answer]
    asked: list[Body] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    """Of each question, by names in small letters."""
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when somebody has hung up on an answer that doesn't end."""
    models: Answer | None = None
    """How it answers when asked for its list of models; None: it has none."""
    sent: int = 0
    """Bytes of such an answer."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body: Body = await request.json()
        self.asked.append(body)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        return await answer(self, body, request)

    @property
    def keys(self) -> list[str | None]:
        return [headers.get("authorization") for headers in self.headers]

    async def list_models(self, request: web.Request) -> web.StreamResponse:
        return await self.models(self, {}, request) if self.models else web.Response(status=404)

    def texts(self, number: int, role: str | None = None) -> list[str]:
        """What a question says, by the role of who says it."""
        messages = self.asked[number]["messages"]
        return [str(message.get("content")) for message in messages if role in (None, message["role"])]


@asynccontextmanager
async def model_server(*answers: Answer) -> AsyncIterator[ModelServer]:
    """A served model; leaving the context ends it."""
    port = free_ports(1)
    server = ModelServer(f"http://127.0.0.1:{port}/v1", answers or [chooses("even")])
    app = web.Application(client_max_size=2**24)
    app.router.add_post("/v1/chat/completions", server.answer)
    app.router.add_get("/v1/models", server.list_models)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield server
    finally:
        await runner.cleanup()


def chooses(move: Any, usage: Any = TOKENS) -> Answer:
    """Answers in due form: in the field, and by the way, that the question asks for."""

    async def answer(server: ModelServer, body: Body, request: web.Request) -> web.StreamResponse:
        arguments = {find_answer_field(body): move}
        if any(tool["function"]["name"] == "final_result" for tool in body.get("tools", ())):
            return await calls(None, arguments, usage)(server, body, request)
        return await says(json.dumps(arguments), usage)(server, body, request)

    return answer


def find_answer_field(body: Body) -> str:
    """What an answer's field is called, as a model would read it from the instructions."""
    told = next(message["content"] for message in body["messages"] if message["role"] == "system")
    return "option" if '{"option": 1}' in told else "move"


def calls(tool: str | None, arguments: Any, usage: Any = TOKENS) -> Answer:
    """Calls a tool, or the one that takes the answer; `arguments` may be text that is no JSON."""

    async def answer(_server: ModelServer, body: Body, _request: web.Request) -> web.StreamResponse:
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        function = {"name": tool or "final_result", "arguments": written}
        call = {"id": f"call_{id(function)}", "type": "function", "function": function}
        return completion({"content": None, "tool_calls": [call]}, "tool_calls", usage)

    return answer


def says(text: str, usage: Any = TOKENS) -> Answer:
    """Answers in words."""

    async def answer(*_: Any) -> web.StreamResponse:
        return completion({"content": text}, "stop", usage)

    return answer


def completion(message: Body, finish: str, usage: Any) -> web.Response:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    content = {"id": "c-1", "object": "chat.completion", "created": 1, "model": "gpt-4o-mini", "choices": [choice]}
    return web.json_response(content if usage is None else {**content, "usage": usage})


def sends(status: int, body: str = '{"error": {"message": "key sk-secret-1 is wrong"}}', **headers: str) -> Answer:
    """Answers with a status and a body, of whatever kind."""

    async def answer(*_: Any) -> web.StreamResponse:
        kind = "text/html" if body.startswith("<!") else "application/json"
        return web.Response(status=status, text=body, content_type=kind, headers=headers)

    return answer


async def packed(server: ModelServer, body: Body, request: web.Request) -> web.StreamResponse:
    """Answers in due form, but packed, whatever was accepted."""
    response = await chooses("odd")(server, body, request)
    assert isinstance(response, web.Response)
    assert isinstance(response.body, bytes)
    headers = {"Content-Encoding": "gzip"}
    return web.Response(body=gzip.compress(response.body), content_type="application/json", headers=headers)


async def hangs(server: ModelServer, _body: Body, _request: web.Request) -> web.StreamResponse:
    """Never answers."""
    try:
        await asyncio.Event().wait()
    finally:
        server.gone.set()
    raise AssertionError


async def endless(server: ModelServer, _body: Body, request: web.Request) -> web.StreamResponse:
    """Answers without end, as fast as it is read."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    try:
        await response.prepare(request)
        while True:
            await response.write(b" " * 65536)
            server.sent += 65536
    finally:
        server.gone.set()
