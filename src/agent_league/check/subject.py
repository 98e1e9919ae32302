"""The subject of a check: one agent. Sends calls in the call form that it understands and stores the exchanges.

Knows the call forms of `league.v2`, but no steps and no single messages.
"""

import asyncio
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from agent_league.agent.call_failures import UNKNOWN_TOOL_PATTERN
from agent_league.agent.listed_tools import CUT_DEVIATION, select_arguments
from agent_league.check.http_probe import NOT_JSON, HttpProbe, ProbeReply, format_redacted, format_reply
from agent_league.check.listener import IncomingCall, Listener
from agent_league.check.mcp_probe import McpProbe
from agent_league.check.scripted_agents import CheckerManager, format_now
from agent_league.check.steps import NoReply, SkipStep
from agent_league.clock import SystemClock
from agent_league.config.models import TimeoutConfig
from agent_league.errors import JsonRpcErrorCode
from agent_league.league.match_tokens import TokenIssuer
from agent_league.model.agents import Role
from agent_league.model.names import CHECK_LEAGUE, is_safe_name
from agent_league.protocol.envelope import Sender
from agent_league.protocol.methods import METHODS
from agent_league.protocol.tokens import SigningKey
from agent_league.protocol.tolerance import (
    CANONICAL,
    FORM_BY_NAME,
    MCP_FORMS,
    TOOL_CALL,
    CallForm,
    MessageFrame,
    find_candidates,
    find_one_argument_form,
    is_message_of_type,
    normalise,
    order_forms,
)
from agent_league.protocol.version import PROTOCOL_V2

FRAMELESS_PLACES = ("params", "the bare body")
TOKEN_SECONDS = 3600
MAX_COMPLAINT_LENGTH = 1000
"""Characters of a complaint that are searched for the words that mean an unknown tool."""
UNKNOWN_CALL_STATUSES = (404, 405, 422, 501)
"""HTTP statuses that mean an unknown call, as does the JSON-RPC code -32601."""
SIGN_IN_STATUSES = (401, 403)
SENTENCE_ENDS = (".", "!", "?")


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """Options of `league check`; times in seconds."""

    timeout: float | None = None
    """Upper bound for every call; None: the protocol's limits alone."""
    wait_seconds: float = 3.0
    """How long to wait for the agent to listen and to register."""
    total_seconds: float = 300.0
    """How long the whole check may take."""
    match_seconds: float = 30.0
    """How long a match may take in which both players answer at once."""
    silent_match_seconds: float = 60.0
    """How long a match may take in which a player never answers: three attempts of 5 s, and the waits between them."""
    admin_token: str | None = None
    game: str | None = None
    """The game in which a player is judged; None: Even/Odd, or the first that it names."""
    timeouts: TimeoutConfig = field(default_factory=TimeoutConfig)

    def get_limit(self, method: str, setting: str | None = None) -> float:
        """Return how many seconds a call of this method may take, by its own setting or the given one."""
        own = METHODS[method].timeout_setting if method in METHODS else "generic_response_timeout_sec"
        limit = float(getattr(self.timeouts, setting or own))
        return limit if self.timeout is None else min(limit, self.timeout)


@dataclass(frozen=True, slots=True)
class ValidCall:
    """A harmless call that every agent of the role must answer; also sent to see whether the agent still works."""

    method: str
    message: Mapping[str, Any]
    wanted: str | None = None
    bearer: str | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """A call, its HTTP reply, and the message parsed from it."""

    method: str
    message: Mapping[str, Any]
    call_form: CallForm
    sent: str
    reply: ProbeReply
    body: Any
    """The parsed reply, or NOT_JSON."""
    answer: Mapping[str, Any] | None = None
    """The message in the reply, with the protocol's field names; None if there is none of the wanted type."""
    place: str = "result"
    deviations: tuple[str, ...] = ()

    @property
    def reply_text(self) -> str:
        return format_reply(self.reply)

    @property
    def error(self) -> Mapping[str, Any]:
        """The JSON-RPC error, also that of a batch of one; empty if there is none."""
        body = self.body[0] if isinstance(self.body, list) and len(self.body) == 1 else self.body
        error = body.get("error") if isinstance(body, dict) else None
        return error if isinstance(error, dict) else {}

    @property
    def league_error(self) -> Mapping[str, Any] | None:
        """The LEAGUE_ERROR in the reply, or None."""
        found = (message for _, message in find_candidates(self.body))
        return next((message for message in found if message.get("message_type") == "LEAGUE_ERROR"), None)

    @property
    def league_code(self) -> str:
        return str((self.league_error or {}).get("error_code", ""))

    @property
    def is_mcp_refusal(self) -> bool:
        """Whether an MCP server has no such tool, or refused the request itself; a failed tool is none."""
        return self.call_form.is_mcp and (self.is_unknown_method or self.reply.status >= 400)

    @property
    def agent_complaint(self) -> str:
        """What the agent itself says is wrong, as a sentence to begin a hint with; empty if it says nothing."""
        body = self.body if isinstance(self.body, dict) else {}
        said = (self.league_error or {}).get("message") or self.error.get("message") or body.get("detail")
        complaint = body.get("error") if isinstance(body.get("error"), str) else self._tool_complaint
        if not (said or complaint):
            return ""
        sentence = format_redacted(said or complaint, 200)
        return f"The agent itself says: {sentence}{'' if sentence.endswith(SENTENCE_ENDS) else '.'} "

    @property
    def is_refused(self) -> bool:
        """Whether the agent refused: with an error, a failed tool, a LEAGUE_ERROR or HTTP 4xx."""
        complains = isinstance(self.body, dict) and bool(self.body.get("error"))
        return complains or self._is_tool_error or self.league_error is not None or 400 <= self.reply.status < 500

    @property
    def is_unknown_method(self) -> bool:
        """Whether the agent doesn't know the method; some agents say so without the JSON-RPC code."""
        if self.reply.status in UNKNOWN_CALL_STATUSES:
            return True
        complains = isinstance(self.body, dict) and bool(self.body.get("error"))
        return (
            complains and self.error.get("code") in (None, JsonRpcErrorCode.METHOD_NOT_FOUND)
        ) or self._is_unknown_tool

    @property
    def _is_tool_error(self) -> bool:
        """Whether the reply is an MCP tool result with `isError`."""
        result = self.body.get("result") if isinstance(self.body, dict) else None
        return isinstance(result, dict) and result.get("isError") is True

    @property
    def _tool_complaint(self) -> str | None:
        """The text of a failed MCP tool."""
        content = self.body["result"].get("content") if self._is_tool_error else None
        first = content[0] if isinstance(content, list) and content else None
        return first.get("text") if isinstance(first, dict) and isinstance(first.get("text"), str) else None

    @property
    def _is_unknown_tool(self) -> bool:
        """Whether an error message or the text of a failed tool says that there is no such tool."""
        said = self.body["result"] if self._is_tool_error else self.error.get("message", "")
        return UNKNOWN_TOOL_PATTERN.search(str(said)[:MAX_COMPLAINT_LENGTH]) is not None

    @property
    def is_breakdown(self) -> bool:
        """Whether the agent's handler failed: HTTP 5xx, an internal error, or a page that is not JSON."""
        page = self.reply.status == 200 and bool(self.reply.body) and self.body is NOT_JSON
        return page or self.reply.status >= 500 or self.error.get("code") == JsonRpcErrorCode.INTERNAL_ERROR

    @property
    def is_acknowledged(self) -> bool:
        """Whether a notice was acknowledged: a result, a bare body or an empty one, and no error."""
        if self.reply.status not in (200, 201, 202, 204) or self.is_refused:
            return False
        return not self.reply.body or self.body is not NOT_JSON


class Subject:
    """One agent under check; a subclass for each role knows its messages."""

    role = Role.PLAYER

    def __init__(
        self, probe: HttpProbe, options: CheckOptions, key: SigningKey, manager: CheckerManager | None
    ) -> None:
        self.probe = probe
        self.mcp = McpProbe(probe)
        self.options = options
        self.key = key
        self.manager = manager
        self.servers: Sequence[Listener] = ()
        """The checker's own servers beside the manager."""
        self.registration: IncomingCall | None = None
        self.registration_deadline = 0.0
        """Until when the agent may register, by the event loop's clock."""
        self.agent_id = "P01"
        self.call_form = CANONICAL
        self._is_call_form_learned = False
        """Whether a question was understood; before that the call form is a guess."""
        self.call_forms: dict[str, CallForm] = {}
        """Method -> the call form in which the agent understood it."""
        self.mcp_revision: str | None = None
        """The revision in which an MCP server was understood after a handshake; None for one without."""
        self.exchanges: dict[str, Exchange] = {}
        self.is_frameless = False
        """Whether the agent answers without a JSON-RPC frame."""
        self.other_league_hint = ""
        """What to do if the agent belongs to another league; empty if it doesn't."""
        self.deviations: list[str] = []
        """Deviations from the protocol that were tolerated."""
        self._request_ids = itertools.count(1001)

    @property
    def sent(self) -> list[str]:
        return self.probe.sent

    @sent.setter
    def sent(self, lines: list[str]) -> None:
        self.probe.sent = lines

    @property
    def league_id(self) -> str:
        return self.manager.league_id if self.manager else CHECK_LEAGUE

    @property
    def token(self) -> str | None:
        """The token that the checker's manager gave to the agent; None if it has not registered."""
        return self.manager.tokens.get(self.agent_id) if self.manager and self.registration else None

    @property
    def is_registered(self) -> bool:
        return self.registration is not None

    @property
    def given_id(self) -> str:
        """The agent's id as it was sent to the agent."""
        return self.agent_id

    @property
    def token_signer(self) -> TokenIssuer:
        """Signs tokens as the checker's manager, for the league that the agent named when it registered."""
        return TokenIssuer(self.key, self.league_id, SystemClock(), TOKEN_SECONDS)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the whole check, shown below the report."""
        return ()

    @property
    def has_valid_answer(self) -> bool:
        """Whether a valid call was ever answered, so that others can be compared with it."""
        return True

    @property
    def unjudged_reason(self) -> str:
        """Why the agent could not be judged in its role, and what to do; empty if it could."""
        return ""

    @property
    def own_name(self) -> str | None:
        """The id that the agent used for itself when it registered, before it got one."""
        sender = Sender.parse(str(self.registration.message.get("sender"))) if self.registration else None
        return sender.agent_id if sender else None

    @property
    def is_bare(self) -> bool:
        return self.call_form.frame is MessageFrame.BARE

    async def open(self) -> None:
        """Start the checker's own servers beside the manager."""
        for server in self.servers:
            await server.start()

    async def close(self) -> None:
        """Stop these servers and the manager concurrently: each of them waits a moment for its last connections."""
        servers = [*self.servers, *([self.manager] if self.manager else [])]
        await asyncio.gather(*(server.stop() for server in servers))

    async def send_first_call(self) -> Exchange:
        """Send a call that every agent of the role knows, in one call form after the other."""
        call = self.make_valid_call()
        return await self.ask_in_any_form(call.method, call.message, call.wanted, call.bearer)

    def make_valid_call(self) -> ValidCall:
        raise NotImplementedError

    def is_valid_answer(self, exchange: Exchange) -> bool:
        """Whether a valid call got the right answer."""
        raise NotImplementedError

    async def is_there(self) -> bool:
        return await self.probe.find_connect_problem() is None

    def get_limit(self, method: str) -> float:
        return self.options.get_limit(method)

    def make_envelope(self, sender: str, conversation_id: str) -> dict[str, Any]:
        return {"sender": sender, "timestamp": format_now(), "conversation_id": conversation_id}

    def sign_manager_token(self) -> str:
        """Sign the manager's bearer token; agents that registered with the checker, now or earlier, accept it."""
        return self.token_signer.get_call_token(self.agent_id)

    async def wait_for_registration(self) -> None:
        """Wait until the agent has registered, at most until the deadline; else read its id from `/health`."""
        if self.manager and self.registration is None:
            left = max(0.0, self.registration_deadline - asyncio.get_running_loop().time())
            self.registration = await self.manager.wait_for_registration(self.probe.url, left)
            if self.registration:
                self.agent_id = self.manager.get_agent_id(self.registration)
                self.call_form = FORM_BY_NAME.get(self.registration.call_form, CANONICAL)  # as our league does
        if self.registration is None:
            await self._read_agent_id()

    async def _read_agent_id(self) -> None:
        """Read the agent's id from `/health`: it may have registered elsewhere, or in an earlier check."""
        try:
            health = (await self.probe.get(self.probe.url_at("/health"), self.get_limit(""))).json_value
        except NoReply:
            return
        said = health.get("id") if isinstance(health, dict) else None
        self.agent_id = said if isinstance(said, str) and is_safe_name(said) else self.agent_id

    async def ask(
        self,
        method: str,
        message: Mapping[str, Any],
        *,
        wanted: str | None = None,
        call_form: CallForm | None = None,
        bearer: str | None = None,
    ) -> Exchange:
        """Send a message in the call form that was learned for this method."""
        call_form = call_form or (
            self.get_call_form(method) if self.get_call_form(method).has_method(method) else CANONICAL
        )
        body = self.encode_call(call_form, method, message, next(self._request_ids))
        return await self.post(body, method, message, wanted=wanted, call_form=call_form, bearer=bearer)

    def encode_call(self, form: CallForm, method: str, message: Mapping[str, Any], request_id: int) -> bytes:
        """Encode a call; a tool that takes no other arguments than it names gets those alone."""
        tools = self.mcp.tools if form.is_mcp else None
        return form.encode_request(method, select_arguments(message, form, method, tools), request_id)

    async def post(
        self,
        body: bytes,
        method: str = "",
        message: Mapping[str, Any] | None = None,
        *,
        wanted: str | None = None,
        call_form: CallForm = CANONICAL,
        bearer: str | None = None,
        shown: str | None = None,
        limit: float | None = None,
    ) -> Exchange:
        """Send raw bytes and parse the reply; `shown` replaces them in the report."""
        limit = limit or self.get_limit(method)
        if headers := call_form.build_headers(method):
            reply = await self.mcp.post(body, limit, headers, bearer, shown)
        else:
            url = self.probe.url_at(call_form.path) if call_form.path else None
            reply = await self.probe.post(body, limit, url=url, bearer=bearer, shown=shown)
        parsed = reply.json_value
        answer, place, noted = _find_answer(parsed, wanted)
        line = self.probe.sent[-1]
        return Exchange(method, message or {}, call_form, line, reply, parsed, answer, place, noted)

    async def ask_in_any_form(
        self, method: str, message: Mapping[str, Any], wanted: str | None, bearer: str | None = None
    ) -> Exchange:
        """Send a message in one call form after the other until the agent understands it.

        If it never does, returns the first exchange, or that of an MCP server's tool.
        """
        first: Exchange | None = None
        of_tool: Exchange | None = None
        answered: set[str] = set()
        styles = list(order_forms(method, PROTOCOL_V2, self.call_form.name))
        for style in styles:
            if style.is_combined and style.frame is MessageFrame.MESSAGE and style.find_method_name(method) in answered:
                continue  # the name is known, and the reply doesn't say that the message is missing
            exchange = await self.ask(method, message, wanted=wanted, call_form=style, bearer=bearer)
            if style.is_mcp and not is_understood(exchange, wanted):
                exchange = await self._ask_with_taken_arguments(exchange, wanted, bearer)
                if of_tool is None or (of_tool.is_unknown_method and not exchange.is_unknown_method):
                    of_tool = exchange
            first = first or exchange
            if style.frame is MessageFrame.PARAMS and not (exchange.is_unknown_method or exchange.is_breakdown):
                answered.add(style.find_method_name(method))
            if is_understood(exchange, wanted):
                self.call_forms[method] = style
                self.mcp_revision = self.mcp.session_revision if style.is_mcp else None
                if style.is_mcp or (wanted is not None and not self._is_call_form_learned):
                    self.call_form, self._is_call_form_learned = style, wanted is not None
                self.record_deviations(exchange)
                return exchange
            if exchange.league_error is not None or (wanted is None and self.call_forms and exchange.is_breakdown):
                return exchange
            more = [
                other
                for other in _list_further_forms(exchange, style)
                if other not in styles and other.has_method(method)
            ]
            styles.extend(more)  # tried after the others
        if first is None:
            raise SkipStep(f"no style has a name for {method}")
        is_mcp_server = first.reply.status == HTTPStatus.NOT_ACCEPTABLE or self.mcp.tools is not None
        return of_tool if of_tool is not None and is_mcp_server else first

    async def _ask_with_taken_arguments(self, refused: Exchange, wanted: str | None, bearer: str | None) -> Exchange:
        """Ask an MCP server for its tools, and call one that takes no other arguments with those alone."""
        if refused.reply.status in UNKNOWN_CALL_STATUSES:
            return refused
        method, form = refused.method, refused.call_form
        with suppress(NoReply):
            tools = await self.mcp.list_tools(self.get_limit(""))
            if select_arguments(refused.message, form, method, tools) is not refused.message:
                return await self.ask(method, refused.message, wanted=wanted, call_form=form, bearer=bearer)
        return refused

    def describe_refusal(self, exchange: Exchange) -> str:
        """Say what keeps the agent from being called, and what to do; empty if nothing does, or it isn't known."""
        status, why = exchange.reply.status, ""
        if status in SIGN_IN_STATUSES:
            why = (
                f"It refuses callers that it doesn't know (HTTP {status}). A league has nothing to sign in with but "
                "the token that comes with each call: leave the path open, and check that."
            )
        elif exchange.is_mcp_refusal:
            why = self.mcp.describe_problem(exchange.method, status)
        return f"{exchange.agent_complaint}{why}" if why else ""

    def get_call_form(self, method: str) -> CallForm:
        """Return the call form in which the agent understood a method, or its general one."""
        return self.call_forms.get(method, self.call_form)

    def store_exchange(self, name: str, exchange: Exchange) -> Exchange:
        self.exchanges[name] = exchange
        return exchange

    def require_exchange(self, name: str, what: str) -> Exchange:
        """Return the exchange of an earlier step; skip the step if that got no answer."""
        exchange = self.exchanges.get(name)
        if exchange is None or exchange.answer is None:
            raise SkipStep(f"no {what} came that could be looked at")
        self.sent.append(exchange.sent)
        return exchange

    @property
    def dialect(self) -> str:
        """The agent's protocol, call form and deviations in a few words, for the report."""
        if self.call_form is CANONICAL and not self.deviations:
            known = any(one.answer is not None or one.is_acknowledged for one in self.exchanges.values())
            return "league.v2, in the protocol's own form" if known else "league.v2, as far as can be told"
        spoken = "the protocol's own form" if self.call_form is CANONICAL else self.call_form.description
        if self.call_form.is_mcp and self.mcp_revision:
            spoken = f"real MCP: `{TOOL_CALL}` of {self.mcp_revision} after a handshake"
        return ", ".join(["league.v2", spoken.replace("`", ""), *dict.fromkeys(self.deviations)])

    def record_deviations(self, exchange: Exchange) -> None:
        """Record call form, place of the answer and field names that deviate from the protocol."""
        method, style = exchange.method, exchange.call_form
        if style.encode_request(method, {}, 1) != self.call_form.encode_request(method, {}, 1):
            self.deviations.append(f"{method} as {style.describe_call(method)}")
        if exchange.answer is not None and exchange.place not in style.answer_places:
            self.deviations.append(f"answers in {exchange.place}")
            self.is_frameless = self.is_frameless or exchange.place in FRAMELESS_PLACES
        if style.is_mcp and select_arguments(exchange.message, style, method, self.mcp.tools) is not exchange.message:
            self.deviations.append(CUT_DEVIATION)
        self.deviations += exchange.deviations


def _list_further_forms(exchange: Exchange, style: CallForm) -> Iterator[CallForm]:
    """List call forms to try after a tool call: other tool names in MCP, or the message as the only argument."""
    if style.frame is MessageFrame.ARGUMENTS and exchange.reply.status == HTTPStatus.OK:
        if style.is_mcp:
            yield from MCP_FORMS
        if not exchange.is_unknown_method and (again := find_one_argument_form(style)):
            yield again


def is_understood(exchange: Exchange, wanted: str | None) -> bool:
    """Whether the wanted answer came, or an acknowledgement if none is wanted."""
    if wanted is not None:
        return exchange.answer is not None
    return exchange.is_acknowledged


def _find_answer(body: Any, wanted: str | None) -> tuple[Mapping[str, Any] | None, str, tuple[str, ...]]:
    for place, message in find_candidates(body) if wanted else ():
        if is_message_of_type(wanted or "", message):
            tidy, noted = normalise(wanted or "", message)
            return tidy, place, tuple(noted)
    return None, "result", ()
