"""The talk with one A2A agent: messages to it, and its replies as Task, Message or stream, read to their end.

A match is a context. A task that asks for input gets the next message of its match; one that has ended is followed by
another in the same context. Knows no game.
"""

import asyncio
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from a2a.client import Client, ClientCallContext, ClientConfig, ClientFactory
from a2a.types import (
    Artifact,
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskState,
)
from a2a.utils.errors import A2AError
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.struct_pb2 import Value

from agent_league.a2a.agent_card import BINDINGS, A2aAgent
from agent_league.a2a.stranger_client import make_stranger_client
from agent_league.errors import CallFailed, PeerRefused, PeerTimeout, PeerUnreachable
from agent_league.text import MAX_PHRASE, redact_tokens, to_printable

POLL_SECONDS = (0.1, 0.2, 0.5, 1.0)
"""Pauses between looks at a task that is still at work; the last one repeats."""
MAX_PARTS = 64
MAX_ID_LENGTH = 256
WORKING = frozenset({TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING})
MALFORMED = (ParseError, ValueError, OverflowError, KeyError, TypeError, AttributeError, RecursionError)
"""What reading a reply raises that is not in A2A's form."""
ANSWERED = frozenset({TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_INPUT_REQUIRED})


@dataclass(slots=True)
class MatchConversation:
    """Where a match stands with its agent: the agent's own ids of the context and of the task that waits for input."""

    context_id: str = ""
    task_id: str = ""
    answers: dict[int, Any] = field(default_factory=dict)
    """What was answered to the latest question, by its step."""


@dataclass(slots=True)
class AgentReply:
    """What an agent said: state and parts of its last words."""

    state: int = TaskState.TASK_STATE_UNSPECIFIED
    """The task's state; unspecified for a plain Message."""
    context_id: str = ""
    task_id: str = ""
    message_parts: list[Part] = field(default_factory=list)
    artifacts: dict[str, list[Part]] = field(default_factory=dict)
    form: str = ""
    """How it came: message, task or stream."""
    data: list[Any] = field(default_factory=list)
    """What its data parts hold, once `read_data` has read them."""

    @property
    def parts(self) -> list[Part]:
        """All parts, those of the message before those of artifacts."""
        return [*self.message_parts, *(part for parts in self.artifacts.values() for part in parts)][:MAX_PARTS]

    @property
    def texts(self) -> list[str]:
        return [part.text for part in self.parts if part.HasField("text")]

    @property
    def state_name(self) -> str:
        return TaskState.Name(self.state).removeprefix("TASK_STATE_").lower()

    def read_data(self) -> None:
        """Read the data parts; raises ValueError for what JSON can't hold, such as an infinite number."""
        self.data = [MessageToDict(part.data) for part in self.parts if part.HasField("data")]

    def take_event(self, event: StreamResponse) -> None:
        """Read one event of a reply."""
        if event.HasField("message"):
            self.form = self.form or "message"
            self.context_id, self.message_parts = event.message.context_id, list(event.message.parts)
        elif event.HasField("task"):
            self.form = self.form or "task"
            self.take_task(event.task)
        elif event.HasField("status_update"):
            self.form = "stream"
            update = event.status_update
            self.state, self.task_id, self.context_id = update.status.state, update.task_id, update.context_id
            if update.status.HasField("message"):
                self.message_parts = list(update.status.message.parts)
        elif event.HasField("artifact_update"):
            self.form = "stream"
            self._take_artifact(event.artifact_update.artifact, append=event.artifact_update.append)

    def take_task(self, task: Task) -> None:
        """Read a whole task."""
        self.state, self.task_id, self.context_id = task.status.state, task.id, task.context_id
        self.message_parts = list(task.status.message.parts) if task.status.HasField("message") else []
        self.artifacts = {}
        for artifact in task.artifacts[-MAX_PARTS:]:
            self._take_artifact(artifact, append=False)

    def _take_artifact(self, artifact: Artifact, *, append: bool) -> None:
        """Keep an artifact; text that is appended continues the text before it."""
        known = self.artifacts.get(artifact.artifact_id) if append else None
        if known and len(artifact.parts) == 1 and artifact.parts[0].HasField("text") and known[-1].HasField("text"):
            known[-1] = Part(text=known[-1].text + artifact.parts[0].text)
        else:
            self.artifacts[artifact.artifact_id] = [*(known or []), *artifact.parts][:MAX_PARTS]


class A2aPeer:
    """Calls one A2A agent. Make it, and close it, inside a running event loop."""

    def __init__(self, agent: A2aAgent, headers: Mapping[str, str]) -> None:
        self._agent = agent
        self._headers = dict(headers)
        self._http = make_stranger_client(agent.origins, agent.allowed_hosts)
        config = ClientConfig(
            httpx_client=self._http,
            supported_protocol_bindings=list(BINDINGS),
            accepted_output_modes=["application/json", "text/plain"],
        )
        self._client: Client = ClientFactory(config).create(agent.card)

    async def close(self) -> None:
        await self._http.aclose()

    async def send(self, context: MatchConversation, data: Any, text: str, limit: float) -> AgentReply:
        """Send a message of a match and await the reply for at most `limit` seconds; raises CallFailed.

        If the agent no longer takes the task that waited for input, the message begins another one.
        """
        try:
            async with asyncio.timeout(limit):
                try:
                    reply = await self._exchange(context, data, text)
                except A2AError:
                    if not context.task_id:
                        raise
                    context.task_id = ""
                    reply = await self._exchange(context, data, text)
        except TimeoutError:
            raise PeerTimeout(f"the agent gave no answer within {limit:.1f} s") from None
        except A2AError as error:
            raise _translate_error(error) from None
        except MALFORMED as error:
            raise PeerRefused(f"the agent's reply is not in A2A's form: {_show(error)}") from None
        context.context_id = _short_id(reply.context_id) or context.context_id
        is_open = reply.state == TaskState.TASK_STATE_INPUT_REQUIRED
        context.task_id = _short_id(reply.task_id) if is_open else ""
        return reply

    async def end_task(self, context: MatchConversation, limit: float) -> None:
        """Cancel a task that still waits for input; an agent that refuses is left alone."""
        if not context.task_id:
            return
        try:
            async with asyncio.timeout(limit):
                await self._client.cancel_task(CancelTaskRequest(id=context.task_id), context=self._call_context())
        except (A2AError, TimeoutError, *MALFORMED):
            pass
        context.task_id = ""

    async def _exchange(self, context: MatchConversation, data: Any, text: str) -> AgentReply:
        message = Message(
            message_id=uuid.uuid4().hex,
            context_id=context.context_id,
            task_id=context.task_id,
            role=Role.ROLE_USER,
            parts=list(make_parts(data, text)),
        )
        reply = AgentReply()
        events = self._client.send_message(SendMessageRequest(message=message), context=self._call_context())
        async for event in events:
            reply.take_event(event)
        pauses = iter(POLL_SECONDS)
        pause = 0.0
        while reply.task_id and reply.state in WORKING:
            pause = next(pauses, pause)
            await asyncio.sleep(pause)
            request = GetTaskRequest(id=reply.task_id)
            reply.take_task(await self._client.get_task(request, context=self._call_context()))
        reply.read_data()
        return reply

    def _call_context(self) -> ClientCallContext:
        return ClientCallContext(service_parameters=dict(self._headers))


def make_parts(data: Any, text: str) -> Iterable[Part]:
    """Make the parts of a message: data first, then text."""
    yield Part(data=ParseDict(data, Value()), media_type="application/json")
    yield Part(text=text, media_type="text/plain")


def describe_failed_task(reply: AgentReply) -> str | None:
    """Describe why a reply holds no answer, by its task's state; None if it may hold one."""
    if reply.state == TaskState.TASK_STATE_UNSPECIFIED or reply.state in ANSWERED:
        return None
    said = f": {_show(' '.join(reply.texts))}" if reply.texts else ""
    return f"the agent's task is {reply.state_name}{said}"


def _translate_error(error: A2AError) -> CallFailed:
    """Translate an error of the SDK, whose text is partly the agent's own."""
    sentence, cause = _show(error), error.__cause__
    if isinstance(cause, httpx.HTTPStatusError) and "HTTP Error" in sentence:  # httpx's own sentence has three lines
        reply = cause.response
        return PeerRefused(
            f"the agent refused the call: HTTP {reply.status_code} {_show(reply.reason_phrase)}".rstrip()
        )
    if type(error).__name__ == "A2AClientTimeoutError":
        return PeerTimeout("the agent could not be connected in time")
    if "Network communication error" in sentence:
        return PeerUnreachable(f"the agent can't be reached: {sentence}")
    return PeerRefused(f"the agent refused the call: {sentence}")


def _show(said: object) -> str:
    return to_printable(str(redact_tokens(str(said))), MAX_PHRASE)


def _short_id(text: str) -> str:
    """Return an id of the agent's, to be sent back as it is; one of absurd length is dropped."""
    return text if len(text) <= MAX_ID_LENGTH else ""
