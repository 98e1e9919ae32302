"""Calls agents in the form that they understand.

An unknown agent is called in one form after the other, within one deadline; the form that it answers to is remembered.
The table of call forms is `protocol.tolerance`. Finds the answer in a reply, but doesn't check its fields.
"""

import asyncio
import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from agent_league.agent.jsonrpc import SHOWN_LENGTH, encode_request, is_plain_result, parse_reply, refusal_in
from agent_league.agent.metrics import Meter
from agent_league.errors import BadAnswer, CallFailed, ErrorCode, FrameCode, OtherAnswer, PeerRefused, PeerUnreachable
from agent_league.http.carrier import Carrier, no_answer
from agent_league.protocol.tolerance import (
    MCP_LIST_HEADERS,
    MCP_META,
    MCP_NAMED,
    SEEDS,
    STYLE_BY_NAME,
    TOOL_LIST,
    Frame,
    Style,
    candidates,
    holds,
    needed_in,
    styles_for,
    with_one_argument,
)
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2

PUSH_SECONDS = 0.25
"""How long to wait for a pushed answer from an agent that only acknowledged, before other forms are tried."""
DEAF_SECONDS = 60
"""How long an agent that refused a notice in every form gets such notices in its likeliest form only."""
ACCEPTED = (202, 204)
"""HTTP statuses that only acknowledge."""
OWN_CALL = "answer in a call of its own"
FAILURES = ("error", "failed", "failure")
LIST_SECONDS = 1.0
"""How long an agent may take to list its tools."""
UNKNOWN_TOOL = re.compile(
    r"(unknown|unsupported|no such|unrecognized)\W+(tool|method)|(tool|method)\b.{0,80}\b(not found|unknown|not exist)",
    re.IGNORECASE,
)
"""Matches sentences that say that there is no such tool, for agents that send no JSON-RPC code."""

Push = asyncio.Future[dict[str, Any]]
"""Resolves to an answer that the agent sends in a call of its own."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call to an agent: method, message and the expected answer."""

    method: str
    message: Mapping[str, Any]
    answer: str | None = None
    """The message type of the answer; None if an acknowledgement is enough."""

    @property
    def protocol(self) -> str:
        return str(self.message.get("protocol"))


@dataclass(slots=True)
class Heard:
    """An answer as it came, and the deviations that were tolerated to find it."""

    message: dict[str, Any]
    noted: tuple[str, ...] = ()


@dataclass(slots=True)
class _Peer:
    """What is known of one agent: the forms it answers to, its tools, and what it refused."""

    style: str | None = None
    """The form of its latest newly answered method, or the one that its registration suggests."""
    methods: dict[str, str] = field(default_factory=dict)
    """The form in which it has answered each method."""
    lacks: dict[str, float] = field(default_factory=dict)
    """Notices that it refused in every form, and when (loop time)."""
    pushes: bool = False
    """Whether it sends its answers in calls of its own."""
    tools: Collection[str] | None = None
    """The names of its tools, as it lists them; None if it wasn't asked yet."""
    mcp_tools: Collection[str] | None = None
    """The same as listed over real MCP."""
    refusals: int = 0
    """Notices that it refused because of their form."""
    tried: set[str] = field(default_factory=set)
    """Methods that it answered in no form; combined forms aren't tried again for them."""

    def likeliest(self, method: str) -> tuple[str, ...]:
        if method in self.methods:
            return (self.methods[method],)
        expected = () if self.style is None else (self.style,)
        return (*expected, *reversed(self.methods.values()))

    def learn(self, method: str, style: Style) -> None:
        if self.methods.get(method) != style.name:
            self.style = self.methods[method] = style.name


@dataclass(slots=True)
class _Reply:
    """An HTTP reply whose body is parsed as JSON; its content is not checked yet."""

    status: int
    body: Any

    def check(self) -> None:
        """Raise PeerRefused or BadAnswer if the reply is a refusal or a failure."""
        if self.status < 400 and is_plain_result(self.body):
            return
        if (refused := refusal_in(self.body)) is not None:
            raise refused
        if isinstance(self.body, dict) and "jsonrpc" in self.body and not {"result", "method"} & self.body.keys():
            raise BadAnswer(f"HTTP {self.status} and neither 'result' nor 'error'", self.body)
        if self.status >= 400:
            raise BadAnswer(f"HTTP {self.status}: {str(self.body)[:SHOWN_LENGTH]}", self.body)
        result = self.body.get("result") if isinstance(self.body, dict) else None
        if isinstance(result, dict) and result.get("isError") is True:
            raise BadAnswer(f"the tool failed: {str(result.get('content'))[:SHOWN_LENGTH]}", self.body)

    @property
    def is_acknowledgement(self) -> bool:
        """Whether it only acknowledges that the call arrived."""
        result = self.body.get("result", self.body) if isinstance(self.body, dict) else None
        status = result.get("status") if isinstance(result, dict) else None
        return self.status in ACCEPTED or (isinstance(status, str) and status.lower() not in FAILURES)


class Manners:
    """Makes outgoing calls and remembers which form each agent understands; with `strict`, only the canonical one."""

    def __init__(self, carrier: Carrier, *, strict: bool = False, meter: Meter | None = None) -> None:
        self._carrier = carrier
        self._meter = meter or Meter()
        self.strict = strict
        self._numbers = itertools.count(1)
        self._peers: dict[tuple[str, str], _Peer] = {}
        """By address and protocol: our own manager gets reports in both, and knows both."""

    def expect(self, endpoint: str, style: str) -> None:
        """Set the form to try first with an agent, unless it is known by an answer already."""
        for protocol in (PROTOCOL_V1, PROTOCOL_V2):
            peer = self._peer(endpoint, protocol)
            if peer.style is None and style in STYLE_BY_NAME:
                peer.style = style

    async def ask(
        self, endpoint: str, call: Call, limit: float, bearer: str | None = None, push: Push | None = None
    ) -> Heard:
        """Make a call and return its answer, wherever it is in the reply; raises CallFailed.

        `limit` is in seconds for all forms together; `push` resolves if the agent answers in a call of its own.
        """
        return await self._meter.calling(endpoint, call.method, self._ask(endpoint, call, limit, bearer, push))

    async def _ask(self, endpoint: str, call: Call, limit: float, bearer: str | None, push: Push | None) -> Heard:
        peer = self._peer(endpoint, call.protocol)
        now = asyncio.get_running_loop().time
        deadline = now() + limit
        failures: list[CallFailed] = []
        acknowledged: list[Style] = []
        styles = _Turns(self._styles(peer, call), call.method)
        for style in styles:
            if now() >= deadline or (style.is_combined and acknowledged):
                break
            try:
                reply = await self._exchange(endpoint, style, call, deadline - now(), bearer)
                heard = self._find(reply, style, call, may_push=push is not None)
            except CallFailed as error:
                failures.append(error)
                if (push and push.done()) or not _may_be_style(error, peer, call):
                    break
                styles.drop_after(style, error)
                await self._look_for_tools(endpoint, peer, call, styles, style, error, deadline - now(), bearer)
                continue
            if heard is not None:
                peer.learn(call.method, style)
                return heard
            acknowledged.append(style)
            patient = peer.pushes or call.method in peer.methods
            if patient or await _comes(push, min(PUSH_SECONDS, deadline - now())):
                break
        else:
            peer.tried.add(call.method)
        if push and await _comes(push, deadline - now() if acknowledged else 0):
            return _taken(push.result(), peer, call, acknowledged or [style])
        telling = [error for error in failures if not acknowledged or _is_breakdown(error)]
        raise _with_all(telling[0], failures) if telling else no_answer(endpoint, limit)

    async def tell(
        self, endpoint: str, call: Call, limit: float, bearer: str | None = None, *, insist: bool = True
    ) -> Any:
        """Send a notice, which is only acknowledged, and return the body of the reply; raises CallFailed.

        Without `insist`, only the agent's likeliest form is tried.
        """
        return await self._meter.calling(
            endpoint, call.method, self._tell(endpoint, call, limit, bearer, insist=insist)
        )

    async def _tell(self, endpoint: str, call: Call, limit: float, bearer: str | None, *, insist: bool) -> Any:
        peer = self._peer(endpoint, call.protocol)
        now = asyncio.get_running_loop().time
        deadline = now() + limit
        insist = insist and now() >= peer.lacks.get(call.method, -DEAF_SECONDS) + DEAF_SECONDS
        failures: list[CallFailed] = []
        styles = _Turns(self._styles(peer, call)[: None if insist else 1], call.method)
        for style in styles:
            if now() >= deadline:
                break
            try:
                reply = await self._exchange(endpoint, style, call, deadline - now(), bearer)
                reply.check()
            except CallFailed as error:
                failures.append(error)
                if not _may_be_style(error, peer, call):
                    break
                peer.refusals += 1
                styles.drop_after(style, error)
                if insist:
                    await self._look_for_tools(endpoint, peer, call, styles, style, error, deadline - now(), bearer)
                continue
            if insist:
                peer.learn(call.method, style)
            return reply.body
        else:
            if insist:
                peer.lacks[call.method] = now()
        raise _with_all(failures[0], failures) if failures else no_answer(endpoint, limit)

    async def is_there(self, endpoint: str, limit: float) -> bool:
        """Whether an address accepts connections, whatever it answers."""
        try:
            await self._carrier.exchange(endpoint, encode_request("ping", {}, next(self._numbers)), limit)
        except PeerUnreachable:
            return False
        except CallFailed:
            pass
        return True

    def lacks(self, endpoint: str, method: str) -> bool:
        """Whether an agent has refused this notice in every form."""
        return method in self._peer(endpoint, PROTOCOL_V2).lacks

    def count_refusals(self, endpoint: str) -> int:
        """Number of notices that an agent has refused because of their form; grows while forms are tried."""
        return self._peer(endpoint, PROTOCOL_V2).refusals

    def unusual(self, endpoint: str, call: Call) -> tuple[str, ...]:
        """The deviations of the form in which an agent takes this call."""
        peer = self._peer(endpoint, call.protocol)
        return _unusual(self._styles(peer, call)[0], call) if call.method in peer.methods else ()

    def frame(self, call: Call, style: str) -> bytes:
        """Encode a notice once for all agents that use this form."""
        return self._styles(_Peer(style), call)[0].request(call.method, call.message, next(self._numbers))

    def _peer(self, endpoint: str, protocol: str) -> _Peer:
        peer = self._peers.get((endpoint, protocol))
        if peer is None:
            peer = self._peers[endpoint, protocol] = _Peer()
        return peer

    def _styles(self, peer: _Peer, call: Call) -> tuple[Style, ...]:
        """The forms to try for a call, the likeliest first."""
        if self.strict:
            return styles_for(call.method, call.protocol)[:1]
        listed = () if call.method in peer.methods else _named_by(peer.mcp_tools, call.method)
        known_by = (*peer.likeliest(call.method), *(style.name for style in listed))
        styles = styles_for(call.method, call.protocol, *known_by)
        if peer.tools and call.method not in peer.methods:
            styles = tuple(sorted(styles, key=lambda style: not _is_listed(style, call.method, peer.tools)))
        if call.method in peer.tried:
            styles = tuple(style for style in styles if not style.is_combined)
        return styles

    async def _look_for_tools(
        self,
        endpoint: str,
        peer: _Peer,
        call: Call,
        styles: "_Turns",
        style: Style,
        error: CallFailed,
        limit: float,
        bearer: str | None,
    ) -> None:
        """After a failed tool call, move the tools that the agent lists to the front; the list is fetched once.

        A tool that exists but fails is called again with the message as its one argument.
        """
        if _is_tool_call(style):
            if peer.tools is None and limit > 0:
                peer.tools = await self._list_tools(endpoint, {}, None, limit, bearer)
            styles.prefer(error, peer.tools or ())
        elif style.is_mcp and _is_failed_tool(error) and peer.mcp_tools is None and limit > 0:
            params = {"_meta": MCP_META}
            peer.mcp_tools = await self._list_tools(endpoint, params, MCP_LIST_HEADERS, limit, bearer)
            styles.bring_forward(*_named_by(peer.mcp_tools, call.method))
        if _is_failed_tool(error) and not _is_unknown_tool(error) and (again := with_one_argument(style)):
            styles.bring_forward(again)

    async def _list_tools(
        self,
        endpoint: str,
        params: Mapping[str, Any],
        headers: Mapping[str, str] | None,
        limit: float,
        bearer: str | None,
    ) -> Collection[str]:
        """Fetch the names of an agent's tools; empty if it doesn't understand the request."""
        frame = encode_request(TOOL_LIST, params, next(self._numbers))
        with suppress(CallFailed):
            status, body = await self._carrier.exchange(endpoint, frame, min(limit, LIST_SECONDS), bearer, headers)
            return _tool_names(parse_reply(status, body))
        return ()

    def _find(self, reply: _Reply, style: Style, call: Call, *, may_push: bool) -> Heard | None:
        """Find the answer in a reply; None if the agent may still push it. Raises CallFailed."""
        wanted = str(call.answer)
        if style is SEEDS and is_plain_result(reply.body) and reply.body["result"].get("message_type") == wanted:
            return Heard(reply.body["result"])
        for place, found in candidates(reply.body):
            if self.strict and place in style.answers and refusal_in(reply.body) is None:
                return Heard(found)
            if holds(wanted, found):
                return self._heard(found, place, style, call)
        reply.check()
        if reply.is_acknowledgement and may_push:
            return None
        if isinstance(reply.body, dict) and isinstance(reply.body.get("result"), dict):
            missing = f"{wanted}: missing: {needed_in(wanted)}"
            raise OtherAnswer(missing, reply.body["result"], ErrorCode.MISSING_REQUIRED_FIELD)
        raise OtherAnswer(f"expected a {wanted}, found no object in 'result'", reply.body)

    def _heard(self, found: dict[str, Any], place: str, style: Style, call: Call) -> Heard:
        if place == "result" and style is SEEDS:
            return Heard(found)
        if self.strict:
            raise BadAnswer(f"expected a {call.answer} in 'result', found it in {place}", found)
        noted = [] if place in style.answers else [f"answer in {place}"]
        return Heard(found, (*_unusual(style, call), *noted))

    async def _exchange(self, endpoint: str, style: Style, call: Call, limit: float, bearer: str | None) -> _Reply:
        number = next(self._numbers)
        frame = style.request(call.method, call.message, number)
        address = endpoint if style.path is None else urlunsplit((*urlsplit(endpoint)[:2], style.path, "", ""))
        status, body = await self._carrier.exchange(address, frame, limit, bearer, style.headers(call.method))
        return _Reply(status, parse_reply(status, body, None if style.frame is Frame.BARE else number))


class _Turns:
    """The forms that are left to try for one call; the agent's errors change their order."""

    def __init__(self, styles: Sequence[Style], method: str) -> None:
        self._left = list(styles)
        self._method = method

    def __iter__(self) -> Iterator[Style]:
        while self._left:
            yield self._left.pop(0)

    def drop_after(self, style: Style, error: CallFailed) -> None:
        """Drop the forms that call the same method name in another frame, if the agent knew the method."""
        if style.frame is Frame.PARAMS and not _may_be_frame(error):
            name = style.name_of(self._method)
            self._left = [
                other
                for other in self._left
                if not (other.is_combined and other.frame is Frame.MESSAGE and other.name_of(self._method) == name)
            ]

    def bring_forward(self, *styles: Style) -> None:
        """Try these forms next."""
        self._left = [*styles, *(style for style in self._left if style not in styles)]

    def prefer(self, error: CallFailed, tools: Collection[str]) -> None:
        """Sort listed tools first; then other tool calls, if the agent said that only the name is unknown."""
        is_name = _is_unknown_tool(error)
        self._left.sort(
            key=lambda style: (not _is_listed(style, self._method, tools), not (is_name and _is_tool_call(style)))
        )


def _is_tool_call(style: Style) -> bool:
    return style.frame is Frame.ARGUMENTS and not style.is_mcp


def _is_listed(style: Style, method: str, tools: Collection[str] | None) -> bool:
    """Whether a form calls a tool that the agent lists."""
    return _is_tool_call(style) and style.name_of(method) in (tools or ())


def _named_by(tools: Collection[str] | None, method: str) -> tuple[Style, ...]:
    """The MCP forms that call a tool which the server lists."""
    if not tools:
        return ()
    return tuple(style for style in MCP_NAMED if style.knows(method) and style.name_of(method) in tools)


def _tool_names(body: Any) -> frozenset[str]:
    result = body.get("result") if isinstance(body, dict) else None
    tools = result.get("tools") if isinstance(result, dict) else None
    listed = tools if isinstance(tools, list) else []
    return frozenset(tool["name"] for tool in listed if isinstance(tool, dict) and isinstance(tool.get("name"), str))


async def _comes(push: Push | None, seconds: float) -> bool:
    """Wait up to `seconds` for a pushed answer; returns whether it is there."""
    if push is not None and not push.done():
        await asyncio.wait({push}, timeout=max(seconds, 0))
    return push is not None and push.done()


def _taken(answer: dict[str, Any], peer: _Peer, call: Call, acknowledged: Sequence[Style]) -> Heard:
    """Take a pushed answer; remember the form only if the agent acknowledged a single one."""
    if len(acknowledged) == 1:
        peer.learn(call.method, acknowledged[0])
        peer.pushes = True
    return Heard(answer, (*_unusual(acknowledged[0], call), OWN_CALL))


def _may_be_style(error: CallFailed, peer: _Peer, call: Call) -> bool:
    """Whether an agent may answer the same call in another form.

    An agent that refuses with a LEAGUE_ERROR has understood the form. If it has answered this method before, only an
    unknown name is a reason to try other forms.
    """
    if not isinstance(error, PeerRefused | BadAnswer) or (isinstance(error, PeerRefused) and not _frame_error(error)):
        return False
    return call.method not in peer.methods or _is_unknown_method(error)


def _with_all(error: CallFailed, failures: Sequence[CallFailed]) -> CallFailed:
    """Attach the failures of all forms to the one that is raised."""
    error.tried = tuple(failures)
    return error


def knows_no_form(error: CallFailed) -> bool:
    """Whether the agent answered every form of a call with "unknown method"."""
    return all(isinstance(one, PeerRefused | BadAnswer) and _is_unknown_method(one) for one in error.tried or (error,))


def _is_unknown_method(error: CallFailed) -> bool:
    """Whether an agent says that it has no such method."""
    fault = _frame_error(error)
    if fault is not None:
        no_code = not isinstance(fault, dict) or fault.get("code") in (None, FrameCode.METHOD_NOT_FOUND)
        return no_code or _is_unknown_tool(error)
    if _is_unknown_tool(error):
        return True
    return error.message.startswith(("HTTP 404", "HTTP 405", "HTTP 422"))


def _may_be_frame(error: CallFailed) -> bool:
    """Whether the error suggests that the agent looked for the message in another place."""
    return _is_unknown_method(error) or error.message.startswith(("HTTP 4", "HTTP 5")) or "message" in error.message


def _is_failed_tool(error: CallFailed) -> bool:
    """Whether MCP reports that a tool failed, wants other arguments or doesn't exist."""
    result = error.answer.get("result") if isinstance(error.answer, dict) else None
    fault = _frame_error(error)
    wants_others = isinstance(fault, dict) and fault.get("code") == FrameCode.INVALID_PARAMS
    return wants_others or (isinstance(result, dict) and result.get("isError") is True) or _is_unknown_tool(error)


def _is_unknown_tool(error: CallFailed) -> bool:
    """Whether an agent says in words that it has no tool of that name: in an error, or as the text of a result."""
    result = error.answer.get("result") if isinstance(error.answer, dict) else None
    failed = isinstance(result, dict) and result.get("isError") is True
    return (failed or _frame_error(error) is not None) and UNKNOWN_TOOL.search(error.message) is not None


def _is_breakdown(error: CallFailed) -> bool:
    """Whether an agent understood the call and failed; this counts more than its acknowledgement of other forms."""
    return isinstance(error, PeerRefused | BadAnswer) and not (
        isinstance(error, OtherAnswer) or _is_unknown_method(error)
    )


def _frame_error(error: CallFailed) -> Any:
    return error.answer.get("error") if isinstance(error.answer, dict) else None


def _unusual(style: Style, call: Call) -> tuple[str, ...]:
    """The deviation of a form that is not the protocol's first; for `league.v1` that is the bare one."""
    usual = styles_for(call.method, call.protocol)[0]
    return () if style is usual else (f"called as {style.shown(call.method)}",)
