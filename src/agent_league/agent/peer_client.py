"""Calls agents in the form that they understand.

An unknown agent is called in one form after the other, within one deadline; the form that it answers to is remembered.
The table of call forms is `protocol.tolerance`. Finds the answer in a reply, but doesn't check its fields.
"""

import asyncio
import itertools
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from agent_league.agent.call_failures import (
    describe_old_transport,
    get_frame_error,
    is_failed_tool,
    is_real_failure,
    is_unknown_method,
    is_unknown_tool,
    may_be_wrong_frame,
)
from agent_league.agent.jsonrpc import (
    encode_request,
    find_refusal,
    find_sent_id,
    parse_reply,
    parse_result,
    raise_refusal,
)
from agent_league.agent.listed_tools import CUT_DEVIATION, ListedTools, parse_listed_tools, select_arguments
from agent_league.agent.mcp_sessions import McpSessions
from agent_league.agent.metrics import OTHER_METHOD, AgentMetrics
from agent_league.errors import BadAnswer, CallFailed, ErrorCode, MismatchedAnswer, PeerRefused, PeerUnreachable
from agent_league.http.carrier import Carrier, make_timeout_error, pin_addresses, use_link
from agent_league.protocol.tolerance import (
    CANONICAL,
    FORM_BY_NAME,
    MCP_FORMS,
    MCP_LIST_HEADERS,
    MCP_META,
    TOOL_LIST,
    CallForm,
    MessageFrame,
    find_candidates,
    find_one_argument_form,
    get_key_field,
    is_message_of_type,
    order_forms,
)
from agent_league.protocol.version import CURRENT_PROTOCOL, PROTOCOLS

PUSH_SECONDS = 0.25
"""How long to wait for a pushed answer from an agent that only acknowledged, before other forms are tried."""
RETRY_FORMS_SECONDS = 60
"""How long an agent that refused a notice in every form gets such notices in its likeliest form only."""
ACCEPTED_STATUSES = (202, 204)
"""HTTP statuses that only acknowledge."""
PUSHED_DEVIATION = "answer in a call of its own"
FAILURE_WORDS = ("error", "failed", "failure")
TOOL_LIST_SECONDS = 1.0
"""How long an agent may take to list its tools."""

PushedAnswer = asyncio.Future[dict[str, Any]]
"""Resolves to an answer that the agent sends in a call of its own."""


@dataclass(frozen=True, slots=True)
class PeerCall:
    """A call to an agent: method, message and the expected answer."""

    method: str
    message: Mapping[str, Any]
    answer_type: str | None = None
    """The message type of the answer; None if an acknowledgement is enough."""

    @property
    def protocol(self) -> str:
        return str(self.message.get("protocol"))


@dataclass(slots=True)
class PeerAnswer:
    """An answer as it came, and the deviations that were tolerated to find it."""

    message: dict[str, Any]
    """Anything at all in the reply to a notice."""
    deviations: tuple[str, ...] = ()


@dataclass(slots=True)
class _KnownPeer:
    """What is known of one agent: the forms it answers to, its tools, and what it refused."""

    form_name: str | None = None
    """The form of its latest newly answered method, or the one that its registration suggests."""
    form_by_method: dict[str, str] = field(default_factory=dict)
    """The form in which it has answered each method."""
    refused_notices: dict[str, float] = field(default_factory=dict)
    """Notices that it refused in every form, and when (loop time)."""
    pushes_answers: bool = False
    """Whether it sends its answers in calls of its own."""
    tools: ListedTools | None = None
    """Its tools, as it lists them; None if it wasn't asked yet."""
    mcp_tools: ListedTools | None = None
    """The same as listed over real MCP."""
    refusal_count: int = 0
    """Calls that it refused because of their form."""
    exhausted_methods: set[str] = field(default_factory=set)
    """Methods that it answered in no form; combined forms aren't tried again for them."""
    unanswered_forms: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """By method, the forms that it acknowledged and never answered; the next call tries them last."""
    ordered_forms: dict[str, tuple[CallForm, ...]] = field(default_factory=dict)
    """The forms to try for each method that it has answered, that of its answer first; cached."""

    def likely_forms(self, method: str) -> tuple[str, ...]:
        if method in self.form_by_method:
            return (self.form_by_method[method],)
        expected = () if self.form_name is None else (self.form_name,)
        return (*expected, *reversed(self.form_by_method.values()))

    def select_arguments(self, form: CallForm, call: PeerCall) -> Mapping[str, Any]:
        """The message as a form sends it: a tool that takes no other arguments gets those alone that it names."""
        return select_arguments(call.message, form, call.method, self.mcp_tools if form.is_mcp else self.tools)

    def note_exhausted(self, call: PeerCall, now: float, *, insist: bool) -> None:
        """Remember that it answered a call in no form."""
        if call.answer_type:
            self.exhausted_methods.add(call.method)
            self.ordered_forms.pop(call.method, None)
        elif insist:
            self.refused_notices[call.method] = now

    def remember_form(self, method: str, form: CallForm) -> None:
        if self.form_by_method.get(method) != form.name:
            self.form_name = self.form_by_method[method] = form.name
            self.ordered_forms.pop(method, None)


@dataclass(slots=True)
class _PeerReply:
    """An HTTP reply whose body is parsed as JSON; its content is not checked yet."""

    status: int
    body: Any

    @property
    def is_acknowledgement(self) -> bool:
        """Whether it only acknowledges that the call arrived."""
        result = self.body.get("result", self.body) if isinstance(self.body, dict) else None
        status = result.get("status") if isinstance(result, dict) else None
        return self.status in ACCEPTED_STATUSES or (isinstance(status, str) and status.lower() not in FAILURE_WORDS)


class PeerClient:
    """Makes outgoing calls and remembers which form each agent understands; with `strict`, only the canonical one."""

    def __init__(self, carrier: Carrier, *, strict: bool = False, metrics: AgentMetrics | None = None) -> None:
        self._carrier = carrier
        self._mcp_sessions = McpSessions(carrier)
        self._metrics = metrics or AgentMetrics()
        self.strict = strict
        self._request_ids = itertools.count(1)
        self._peers: defaultdict[tuple[str, str], _KnownPeer] = defaultdict(_KnownPeer)
        """By address and protocol: our own manager gets reports in both, and knows both."""

    def expect_form(self, endpoint: str, form: str) -> None:
        """Set the form to try first with an agent, unless it is known by an answer already."""
        for protocol in PROTOCOLS:
            peer = self._peers[endpoint, protocol]
            if peer.form_name is None and form in FORM_BY_NAME:
                peer.form_name = form

    def pin_addresses(self, endpoint: str, addresses: Sequence[str]) -> None:
        """Call the host of an endpoint at these IP addresses alone from now on, if there are any."""
        pin_addresses(self._carrier, endpoint, addresses)

    def use_link(self, endpoint: str, port: int | None) -> None:
        """Call an agent over the link at this port of its host from now on; None: by single calls."""
        use_link(self._carrier, endpoint, port)

    async def request_answer(
        self, endpoint: str, call: PeerCall, limit: float, bearer: str | None = None, push: PushedAnswer | None = None
    ) -> PeerAnswer:
        """Make a call and return its answer, wherever it is in the reply; raises CallFailed.

        `limit` is in seconds for all forms together; `push` resolves if the agent answers in a call of its own.
        """
        return await self._metrics.track_call(
            endpoint, call.method, self._call_in_forms(endpoint, call, limit, bearer, push)
        )

    async def send_notice(
        self, endpoint: str, call: PeerCall, limit: float, bearer: str | None = None, *, insist: bool = True
    ) -> Any:
        """Send a notice, which is only acknowledged, and return the body of the reply; raises CallFailed.

        Without `insist`, only the agent's likeliest form is tried.
        """
        notice = self._call_in_forms(endpoint, call, limit, bearer, insist=insist)
        return (await self._metrics.track_call(endpoint, call.method, notice)).message

    async def call_method(
        self, endpoint: str, method: str, params: Mapping[str, Any], limit: float, bearer: str | None = None
    ) -> Any:
        """Call a method in the canonical form alone and return the result; raises CallFailed."""
        frame = encode_request(method, params, next(self._request_ids))
        return await self.send_frame(endpoint, frame, limit, bearer, method)

    async def send_frame(
        self, endpoint: str, frame: bytes, limit: float, bearer: str | None = None, method: str = OTHER_METHOD
    ) -> Any:
        """Send an encoded frame and return the result; raises CallFailed. Counted as a call of `method`."""
        return await self._metrics.track_call(endpoint, method, self._exchange_frame(endpoint, frame, limit, bearer))

    async def _exchange_frame(self, endpoint: str, frame: bytes, limit: float, bearer: str | None) -> Any:
        return parse_result(*await self._carrier.exchange(endpoint, frame, limit, bearer), find_sent_id(frame))

    async def _call_in_forms(
        self,
        endpoint: str,
        call: PeerCall,
        limit: float,
        bearer: str | None,
        push: PushedAnswer | None = None,
        *,
        insist: bool = True,
    ) -> PeerAnswer:
        """Try one form after the other until the agent answers, or acknowledges a notice; raises CallFailed."""
        peer = self._peers[endpoint, call.protocol]
        now = asyncio.get_running_loop().time
        deadline = now() + limit
        insist = insist and now() >= peer.refused_notices.get(call.method, -RETRY_FORMS_SECONDS) + RETRY_FORMS_SECONDS
        failures: list[CallFailed] = []
        acknowledged: list[CallForm] = []
        ordered = peer.ordered_forms.get(call.method) or self._order_forms(peer, call)
        forms = _FormQueue(list(ordered if insist else ordered[:1]), call.method)
        while forms.remaining:
            form = forms.remaining.pop(0)
            if now() >= deadline or (form.is_combined and acknowledged):
                break
            message = peer.select_arguments(form, call)
            try:
                reply = await self._exchange_in_form(endpoint, form, call.method, message, deadline - now(), bearer)
                answer = self._find_answer(reply, form, call, may_push=push is not None)
            except CallFailed as error:
                failures.append(error)
                if (push and push.done()) or not _may_be_wrong_form(error, peer, call):
                    break
                peer.refusal_count += 1
                forms.drop_known_name(form, error)
                if insist:
                    await self._look_for_tools(endpoint, peer, call, forms, form, error, deadline - now(), bearer)
                continue
            if answer is not None:
                if insist:
                    peer.remember_form(call.method, form)
                if message is not call.message:
                    answer.deviations += (CUT_DEVIATION,)
                return answer
            acknowledged.append(form)
            patient = peer.pushes_answers or call.method in peer.form_by_method
            if patient or await _wait_for_push(push, min(PUSH_SECONDS, deadline - now())):
                break
        else:
            peer.note_exhausted(call, now(), insist=insist)
        if push and await _wait_for_push(push, deadline - now() if acknowledged else 0):
            return _accept_pushed_answer(push.result(), peer, call, acknowledged or [form])
        peer.unanswered_forms[call.method].update(form.name for form in acknowledged)
        telling = [error for error in failures if not acknowledged or is_real_failure(error)]
        if not telling:
            raise make_timeout_error(endpoint, limit)
        raise _sum_up_failures(endpoint, telling[0], failures)

    async def is_reachable(self, endpoint: str, limit: float) -> bool:
        """Whether an address accepts connections, whatever it answers."""
        try:
            await self._carrier.exchange(endpoint, encode_request("ping", {}, next(self._request_ids)), limit)
        except PeerUnreachable:
            return False
        except CallFailed:
            pass
        return True

    def lacks_method(self, endpoint: str, method: str) -> bool:
        """Whether an agent has refused this notice in every form."""
        return method in self._peers[endpoint, CURRENT_PROTOCOL].refused_notices

    def count_refusals(self, endpoint: str) -> int:
        """Number of calls that an agent has refused because of their form; grows while forms are tried."""
        return self._peers[endpoint, CURRENT_PROTOCOL].refusal_count

    def find_deviations(self, endpoint: str, call: PeerCall) -> tuple[str, ...]:
        """The deviations of the form in which an agent takes this call."""
        peer = self._peers[endpoint, call.protocol]
        return _form_deviations(self._order_forms(peer, call)[0], call) if call.method in peer.form_by_method else ()

    def encode_notice(self, call: PeerCall, form: str) -> bytes:
        """Encode a notice once for all agents that use this form."""
        return self._order_forms(_KnownPeer(form), call)[0].encode_request(
            call.method, call.message, next(self._request_ids)
        )

    def _order_forms(self, peer: _KnownPeer, call: PeerCall) -> tuple[CallForm, ...]:
        """The forms to try for a call, the likeliest first."""
        if self.strict:
            return order_forms(call.method, call.protocol)[:1]
        is_answered = call.method in peer.form_by_method
        listed = _forms_for_tools(peer.mcp_tools, call.method) if peer.mcp_tools and not is_answered else ()
        known_by = (*peer.likely_forms(call.method), *(form.name for form in listed))
        forms = order_forms(call.method, call.protocol, *known_by)
        if peer.tools and not is_answered:
            forms = tuple(sorted(forms, key=lambda form: not _is_listed_tool(form, call.method, peer.tools)))
        if call.method in peer.exhausted_methods:
            forms = tuple(form for form in forms if not form.is_combined)
        if not is_answered and (unanswered := peer.unanswered_forms.get(call.method)):
            forms = tuple(sorted(forms, key=lambda form: form.name in unanswered))
        if is_answered:
            peer.ordered_forms[call.method] = forms
        return forms

    async def _look_for_tools(
        self,
        endpoint: str,
        peer: _KnownPeer,
        call: PeerCall,
        forms: "_FormQueue",
        form: CallForm,
        error: CallFailed,
        limit: float,
        bearer: str | None,
    ) -> None:
        """After a failed tool call, move the tools that the agent lists to the front; the list is fetched once.

        A tool that exists but fails is called again: with the arguments that it takes if it takes no others, else with
        the message as its one argument.
        """
        sent = peer.select_arguments(form, call)
        if _is_tool_call(form):
            if peer.tools is None and limit > 0:
                peer.tools = await self._list_tools(endpoint, {}, None, limit, bearer)
            forms.prefer_listed_tools(error, peer.tools or ())
        elif form.is_mcp and is_failed_tool(error) and peer.mcp_tools is None and limit > 0:
            params = {"_meta": MCP_META}
            peer.mcp_tools = await self._list_tools(endpoint, params, MCP_LIST_HEADERS, limit, bearer)
            forms.bring_forward(*_forms_for_tools(peer.mcp_tools, call.method))
        if is_failed_tool(error) and not is_unknown_tool(error):
            if (again := find_one_argument_form(form)) is not None:
                forms.bring_forward(again)
            if (left := peer.select_arguments(form, call)) and left is not call.message and sent is call.message:
                forms.bring_forward(form)

    async def _list_tools(
        self,
        endpoint: str,
        params: Mapping[str, Any],
        headers: Mapping[str, str] | None,
        limit: float,
        bearer: str | None,
    ) -> ListedTools:
        """Fetch the list of an agent's tools; empty if it doesn't understand the request."""
        frame = encode_request(TOOL_LIST, params, next(self._request_ids))
        with suppress(CallFailed):
            send = self._mcp_sessions if headers else self._carrier
            status, body = await send.exchange(endpoint, frame, min(limit, TOOL_LIST_SECONDS), bearer, headers or {})
            return parse_listed_tools(parse_reply(status, body))
        return {}

    def _find_answer(self, reply: _PeerReply, form: CallForm, call: PeerCall, *, may_push: bool) -> PeerAnswer | None:
        """Find the answer in a reply; None if the agent may still push it. Raises CallFailed.

        The answer to a notice is the whole body, unless it is a refusal.
        """
        if (wanted := call.answer_type) is None:
            raise_refusal(reply.status, reply.body)
            return PeerAnswer(reply.body)
        result = reply.body.get("result") if isinstance(reply.body, dict) else None
        if form is CANONICAL and isinstance(result, dict) and result.get("message_type") == wanted:
            return PeerAnswer(result)
        for place, found in find_candidates(reply.body):
            if self.strict and place in form.answer_places and find_refusal(reply.body) is None:
                return PeerAnswer(found)
            if is_message_of_type(wanted, found):
                return self._accept_answer(found, place, form, call)
        raise_refusal(reply.status, reply.body)
        if reply.is_acknowledgement and may_push:
            return None
        if isinstance(result, dict):
            missing = f"{wanted}: missing: {get_key_field(wanted)}"
            raise MismatchedAnswer(missing, result, ErrorCode.MISSING_REQUIRED_FIELD)
        raise MismatchedAnswer(f"expected a {wanted}, found no object in 'result'", reply.body)

    def _accept_answer(self, found: dict[str, Any], place: str, form: CallForm, call: PeerCall) -> PeerAnswer:
        if place == "result" and form is CANONICAL:
            return PeerAnswer(found)
        if self.strict:
            raise BadAnswer(f"expected a {call.answer_type} in 'result', found it in {place}", found)
        noted = [] if place in form.answer_places else [f"answer in {place}"]
        return PeerAnswer(found, (*_form_deviations(form, call), *noted))

    async def _exchange_in_form(
        self, endpoint: str, form: CallForm, method: str, message: Mapping[str, Any], limit: float, bearer: str | None
    ) -> _PeerReply:
        number = next(self._request_ids)
        frame = form.encode_request(method, message, number)
        address = endpoint if form.path is None else urlunsplit((*urlsplit(endpoint)[:2], form.path, "", ""))
        if headers := form.build_headers(method):
            status, body = await self._mcp_sessions.exchange(address, frame, limit, bearer, headers)
        else:
            status, body = await self._carrier.exchange(address, frame, limit, bearer)
        return _PeerReply(status, parse_reply(status, body, None if form.frame is MessageFrame.BARE else number))


@dataclass(slots=True)
class _FormQueue:
    """The forms that are left to try for one call; the agent's errors change their order."""

    remaining: list[CallForm]
    method: str

    def drop_known_name(self, form: CallForm, error: CallFailed) -> None:
        """Drop the forms that call the same method name in another frame, if the agent knew the method."""
        if form.frame is MessageFrame.PARAMS and not may_be_wrong_frame(error):
            name = form.find_method_name(self.method)
            self.remaining = [
                other
                for other in self.remaining
                if not (
                    other.is_combined
                    and other.frame is MessageFrame.MESSAGE
                    and other.find_method_name(self.method) == name
                )
            ]

    def bring_forward(self, *forms: CallForm) -> None:
        """Try these forms next."""
        self.remaining = [*forms, *(form for form in self.remaining if form not in forms)]

    def prefer_listed_tools(self, error: CallFailed, tools: Collection[str]) -> None:
        """Sort listed tools first; then other tool calls, if the agent said that only the name is unknown."""
        is_name = is_unknown_tool(error)
        self.remaining.sort(
            key=lambda form: (not _is_listed_tool(form, self.method, tools), not (is_name and _is_tool_call(form)))
        )


def _is_tool_call(form: CallForm) -> bool:
    return form.frame is MessageFrame.ARGUMENTS and not form.is_mcp


def _is_listed_tool(form: CallForm, method: str, tools: Collection[str] | None) -> bool:
    """Whether a form calls a tool that the agent lists."""
    return _is_tool_call(form) and form.find_method_name(method) in (tools or ())


def _forms_for_tools(tools: Collection[str] | None, method: str) -> tuple[CallForm, ...]:
    """The MCP forms that call a tool which the server lists."""
    if not tools:
        return ()
    return tuple(form for form in MCP_FORMS if form.has_method(method) and form.find_method_name(method) in tools)


def _sum_up_failures(endpoint: str, telling: CallFailed, failures: Sequence[CallFailed]) -> CallFailed:
    """The error of a call that failed in every form, with all failures in it."""
    sentence = describe_old_transport(endpoint, failures)
    error = BadAnswer(sentence, telling.answer) if sentence else telling
    error.form_failures = tuple(failures)
    return error


async def _wait_for_push(push: PushedAnswer | None, seconds: float) -> bool:
    """Wait up to `seconds` for a pushed answer; returns whether it is there."""
    if push is not None and not push.done():
        await asyncio.wait({push}, timeout=max(seconds, 0))
    return push is not None and push.done()


def _accept_pushed_answer(
    answer: dict[str, Any], peer: _KnownPeer, call: PeerCall, acknowledged: Sequence[CallForm]
) -> PeerAnswer:
    """Take a pushed answer; remember the form only if the agent acknowledged a single one."""
    if len(acknowledged) == 1:
        peer.remember_form(call.method, acknowledged[0])
        peer.pushes_answers = True
    return PeerAnswer(answer, (*_form_deviations(acknowledged[0], call), PUSHED_DEVIATION))


def _may_be_wrong_form(error: CallFailed, peer: _KnownPeer, call: PeerCall) -> bool:
    """Whether an agent may answer the same call in another form.

    An agent that refuses with a LEAGUE_ERROR has understood the form. If it has answered this method before, only an
    unknown name is a reason to try other forms.
    """
    if not isinstance(error, PeerRefused | BadAnswer) or (
        isinstance(error, PeerRefused) and not get_frame_error(error)
    ):
        return False
    return call.method not in peer.form_by_method or is_unknown_method(error)


def _form_deviations(form: CallForm, call: PeerCall) -> tuple[str, ...]:
    """The deviation of a form that is not the protocol's first; for `league.v1` that is the bare one."""
    usual = order_forms(call.method, call.protocol)[0]
    return () if form is usual else (f"called as {form.describe_call(call.method)}",)
