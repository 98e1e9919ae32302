"""The subject of a check: one agent. Sends calls in the call form that it understands and stores the exchanges.

Knows the call forms of `league.v2`, but no steps and no single messages.
"""

import asyncio
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from agent_league.agent.peer_client import UNKNOWN_TOOL
from agent_league.check.http_probe import NOT_JSON, Probe, Reply, show, told
from agent_league.check.listener import Incoming, Listener
from agent_league.check.scripted_agents import StandInManager, stamp
from agent_league.check.steps import NoReply, Skip
from agent_league.clock import SystemClock
from agent_league.config.models import Timeouts
from agent_league.errors import FrameCode
from agent_league.league.match_tokens import Passes
from agent_league.model.agents import Role
from agent_league.model.names import CHECK_LEAGUE, is_safe_name
from agent_league.protocol.envelope import Sender
from agent_league.protocol.methods import METHODS
from agent_league.protocol.tokens import SigningKey
from agent_league.protocol.tolerance import (
    MCP_NAMED,
    SEEDS,
    STYLE_BY_NAME,
    Frame,
    Style,
    candidates,
    holds,
    styles_for,
    tidied,
    with_one_argument,
)
from agent_league.protocol.version import PROTOCOL_V2

FRAMELESS = ("params", "the bare body")
PASS_SECONDS = 3600
MOST_READ = 1000
"""Characters of a complaint that are searched for the words that mean an unknown tool."""
UNKNOWN = (404, 405, 422, 501)
"""HTTP statuses that mean an unknown call, as does the JSON-RPC code -32601."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of `league check`; times in seconds."""

    timeout: float | None = None
    """Upper bound for every call; None: the protocol's limits alone."""
    wait: float = 3.0
    """How long to wait for the agent to listen and to register."""
    bound: float = 300.0
    """How long the whole check may take."""
    match: float = 30.0
    """How long a match may take in which both players answer at once."""
    silence: float = 60.0
    """How long a match may take in which a player never answers: three attempts of 5 s, and the waits between them."""
    admin_token: str | None = None
    timeouts: Timeouts = field(default_factory=Timeouts)

    def limit(self, method: str) -> float:
        """Return how many seconds a call of this method may take."""
        name = METHODS[method].limit if method in METHODS else "generic_response_timeout_sec"
        limit = float(getattr(self.timeouts, name))
        return limit if self.timeout is None else min(limit, self.timeout)


@dataclass(frozen=True, slots=True)
class GoodCall:
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
    style: Style
    sent: str
    reply: Reply
    body: Any
    """The parsed reply, or NOT_JSON."""
    answer: Mapping[str, Any] | None = None
    """The message in the reply, with the protocol's field names; None if there is none of the wanted type."""
    place: str = "result"
    noted: tuple[str, ...] = ()

    @property
    def came(self) -> str:
        return told(self.reply)

    @property
    def error(self) -> Mapping[str, Any]:
        """The JSON-RPC error, also that of a batch of one; empty if there is none."""
        body = self.body[0] if isinstance(self.body, list) and len(self.body) == 1 else self.body
        error = body.get("error") if isinstance(body, dict) else None
        return error if isinstance(error, dict) else {}

    @property
    def league_error(self) -> Mapping[str, Any] | None:
        """The LEAGUE_ERROR in the reply, or None."""
        found = (message for _, message in candidates(self.body))
        return next((message for message in found if message.get("message_type") == "LEAGUE_ERROR"), None)

    @property
    def league_code(self) -> str:
        return str((self.league_error or {}).get("error_code", ""))

    @property
    def own_words(self) -> str:
        """What the agent itself says is wrong, as a sentence to begin a hint with; empty if it says nothing."""
        body = self.body if isinstance(self.body, dict) else {}
        said = (self.league_error or {}).get("message") or self.error.get("message") or body.get("detail")
        complaint = body.get("error") if isinstance(body.get("error"), str) else None
        return f"The agent itself says: {show(said or complaint, 200)} " if said or complaint else ""

    @property
    def refused(self) -> bool:
        """Whether the agent refused: with an error, a failed tool, a LEAGUE_ERROR or HTTP 4xx."""
        complains = isinstance(self.body, dict) and bool(self.body.get("error"))
        return complains or self._failed_tool or self.league_error is not None or 400 <= self.reply.status < 500

    @property
    def unknown_method(self) -> bool:
        """Whether the agent doesn't know the method; some agents say so without the JSON-RPC code."""
        if self.reply.status in UNKNOWN:
            return True
        complains = isinstance(self.body, dict) and bool(self.body.get("error"))
        return (complains and self.error.get("code") in (None, FrameCode.METHOD_NOT_FOUND)) or self._unknown_tool

    @property
    def _failed_tool(self) -> bool:
        """Whether the reply is an MCP tool result with `isError`."""
        result = self.body.get("result") if isinstance(self.body, dict) else None
        return isinstance(result, dict) and result.get("isError") is True

    @property
    def _unknown_tool(self) -> bool:
        """Whether an error message or the text of a failed tool says that there is no such tool."""
        said = self.body["result"] if self._failed_tool else self.error.get("message", "")
        return UNKNOWN_TOOL.search(str(said)[:MOST_READ]) is not None

    @property
    def broke_down(self) -> bool:
        """Whether the agent's handler failed: HTTP 5xx, an internal error, or a page that is not JSON."""
        page = self.reply.status == 200 and bool(self.reply.body) and self.body is NOT_JSON
        return page or self.reply.status >= 500 or self.error.get("code") == FrameCode.INTERNAL_ERROR

    @property
    def acknowledged(self) -> bool:
        """Whether a notice was acknowledged: a result, a bare body or an empty one, and no error."""
        if self.reply.status not in (200, 201, 202, 204) or self.refused:
            return False
        return not self.reply.body or self.body is not NOT_JSON


class Bench:
    """One agent under check; a subclass for each role knows its messages."""

    role = Role.PLAYER

    def __init__(self, probe: Probe, options: Options, key: SigningKey, manager: StandInManager | None) -> None:
        self.probe = probe
        self.options = options
        self.key = key
        self.manager = manager
        self.servers: Sequence[Listener] = ()
        """The checker's own servers beside the manager."""
        self.registration: Incoming | None = None
        self.deadline = 0.0
        """Until when the agent may register, by the event loop's clock."""
        self.agent_id = "P01"
        self.style = SEEDS
        self._is_style_learned = False
        """Whether a question was understood; before that the call form is a guess."""
        self.styles: dict[str, Style] = {}
        """Method -> the call form in which the agent understood it."""
        self.kept: dict[str, Exchange] = {}
        self.frameless = False
        """Whether the agent answers without a JSON-RPC frame."""
        self.elsewhere = ""
        """What to do if the agent belongs to another league; empty if it doesn't."""
        self.noted: list[str] = []
        """Deviations from the protocol that were tolerated."""
        self._numbers = itertools.count(1001)

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
    def given_id(self) -> str:
        """The agent's id as it was sent to the agent."""
        return self.agent_id

    @property
    def passes(self) -> Passes:
        """Signs tokens as the checker's manager, for the league that the agent named when it registered."""
        return Passes(self.key, self.league_id, SystemClock(), PASS_SECONDS)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the whole check, shown below the report."""
        return ()

    @property
    def has_answered_well(self) -> bool:
        """Whether a valid call was ever answered, so that others can be compared with it."""
        return True

    @property
    def unjudged(self) -> str:
        """Why the agent could not be judged in its role, and what to do; empty if it could."""
        return ""

    @property
    def own_name(self) -> str | None:
        """The id that the agent used for itself when it registered, before it got one."""
        sender = Sender.parse(str(self.registration.message.get("sender"))) if self.registration else None
        return sender.agent_id if sender else None

    @property
    def is_bare(self) -> bool:
        return self.style.frame is Frame.BARE

    async def open(self) -> None:
        """Start the checker's own servers beside the manager."""
        for server in self.servers:
            await server.start()

    async def close(self) -> None:
        """Stop these servers and the manager concurrently: each of them waits a moment for its last connections."""
        servers = [*self.servers, *([self.manager] if self.manager else [])]
        await asyncio.gather(*(server.stop() for server in servers))

    async def knock(self) -> Exchange:
        """Send a call that every agent of the role knows, in one call form after the other."""
        call = self.good_call()
        return await self.learn(call.method, call.message, call.wanted, call.bearer)

    def good_call(self) -> GoodCall:
        raise NotImplementedError

    def is_good(self, exchange: Exchange) -> bool:
        """Whether a valid call got the right answer."""
        raise NotImplementedError

    async def is_there(self) -> bool:
        return await self.probe.connects() is None

    def limit(self, method: str) -> float:
        return self.options.limit(method)

    def envelope(self, sender: str, conversation_id: str) -> dict[str, Any]:
        return {"sender": sender, "timestamp": stamp(), "conversation_id": conversation_id}

    def manager_bearer(self) -> str:
        """Sign the manager's bearer token; agents that registered with the checker, now or earlier, accept it."""
        return self.passes.for_call(self.agent_id)

    async def meet(self) -> None:
        """Wait until the agent has registered, at most until the deadline; else read its id from `/health`."""
        if self.manager and self.registration is None:
            left = max(0.0, self.deadline - asyncio.get_running_loop().time())
            self.registration = await self.manager.registration(self.probe.url, left)
            if self.registration:
                self.agent_id = self.manager.id_of(self.registration)
                self.style = STYLE_BY_NAME.get(self.registration.style, SEEDS)  # as our league does
        if self.registration is None:
            await self._take_name()

    async def _take_name(self) -> None:
        """Read the agent's id from `/health`: it may have registered elsewhere, or in an earlier check."""
        try:
            health = (await self.probe.get(self.probe.at("/health"), self.limit(""))).parsed
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
        style: Style | None = None,
        bearer: str | None = None,
    ) -> Exchange:
        """Send a message in the call form that was learned for this method."""
        style = style or (self.style_of(method) if self.style_of(method).knows(method) else SEEDS)
        body = style.request(method, message, next(self._numbers))
        return await self.post(body, method, message, wanted=wanted, style=style, bearer=bearer)

    async def post(
        self,
        body: bytes,
        method: str = "",
        message: Mapping[str, Any] | None = None,
        *,
        wanted: str | None = None,
        style: Style = SEEDS,
        bearer: str | None = None,
        shown: str | None = None,
        limit: float | None = None,
    ) -> Exchange:
        """Send raw bytes and parse the reply; `shown` replaces them in the report."""
        url = self.probe.at(style.path) if style.path else None
        reply = await self.probe.post(
            body, limit or self.limit(method), url=url, bearer=bearer, shown=shown, more_headers=style.headers(method)
        )
        parsed = reply.parsed
        answer, place, noted = _found(parsed, wanted)
        line = self.probe.sent[-1]
        return Exchange(method, message or {}, style, line, reply, parsed, answer, place, noted)

    async def learn(
        self, method: str, message: Mapping[str, Any], wanted: str | None, bearer: str | None = None
    ) -> Exchange:
        """Send a message in one call form after the other until the agent understands it.

        Returns the first exchange if it never does.
        """
        first: Exchange | None = None
        answered: set[str] = set()
        styles = list(styles_for(method, PROTOCOL_V2, self.style.name))
        for style in styles:
            if style.is_combined and style.frame is Frame.MESSAGE and style.name_of(method) in answered:
                continue  # the name is known, and the reply doesn't say that the message is missing
            exchange = await self.ask(method, message, wanted=wanted, style=style, bearer=bearer)
            first = first or exchange
            if style.frame is Frame.PARAMS and not (exchange.unknown_method or exchange.broke_down):
                answered.add(style.name_of(method))
            if understood(exchange, wanted):
                self.styles[method] = style
                if style.is_mcp or (wanted is not None and not self._is_style_learned):
                    self.style, self._is_style_learned = style, wanted is not None
                self.note(exchange)
                return exchange
            if exchange.league_error is not None or (wanted is None and self.styles and exchange.broke_down):
                return exchange
            more = [other for other in _on_a_sign(exchange, style) if other not in styles and other.knows(method)]
            styles.extend(more)  # tried after the others
        if first is None:
            raise Skip(f"no style has a name for {method}")
        return first

    def style_of(self, method: str) -> Style:
        """Return the call form in which the agent understood a method, or its general one."""
        return self.styles.get(method, self.style)

    def keep(self, name: str, exchange: Exchange) -> Exchange:
        self.kept[name] = exchange
        return exchange

    def need(self, name: str, what: str) -> Exchange:
        """Return the exchange of an earlier step; skip the step if that got no answer."""
        exchange = self.kept.get(name)
        if exchange is None or exchange.answer is None:
            raise Skip(f"no {what} came that could be looked at")
        self.sent.append(exchange.sent)
        return exchange

    @property
    def dialect(self) -> str:
        """The agent's protocol, call form and deviations in a few words, for the report."""
        if self.style is SEEDS and not self.noted:
            known = any(one.answer is not None or one.acknowledged for one in self.kept.values())
            return "league.v2, in the protocol's own form" if known else "league.v2, as far as can be told"
        spoken = "the protocol's own form" if self.style is SEEDS else self.style.says
        return ", ".join(["league.v2", spoken.replace("`", ""), *dict.fromkeys(self.noted)])

    def note(self, exchange: Exchange) -> None:
        """Record call form, place of the answer and field names that deviate from the protocol."""
        method, style = exchange.method, exchange.style
        if style.request(method, {}, 1) != self.style.request(method, {}, 1):
            self.noted.append(f"{method} as {style.shown(method)}")
        if exchange.answer is not None and exchange.place not in style.answers:
            self.noted.append(f"answers in {exchange.place}")
            self.frameless = self.frameless or exchange.place in FRAMELESS
        self.noted += exchange.noted


def _on_a_sign(exchange: Exchange, style: Style) -> Iterator[Style]:
    """List call forms to try after a tool call: other tool names in MCP, or the message as the only argument."""
    if style.frame is Frame.ARGUMENTS and exchange.reply.status == HTTPStatus.OK:
        if style.is_mcp:
            yield from MCP_NAMED
        if not exchange.unknown_method and (again := with_one_argument(style)):
            yield again


def understood(exchange: Exchange, wanted: str | None) -> bool:
    """Whether the wanted answer came, or an acknowledgement if none is wanted."""
    if wanted is not None:
        return exchange.answer is not None
    return exchange.acknowledged


def _found(body: Any, wanted: str | None) -> tuple[Mapping[str, Any] | None, str, tuple[str, ...]]:
    for place, message in candidates(body) if wanted else ():
        if holds(wanted or "", message):
            tidy, noted = tidied(wanted or "", message)
            return tidy, place, tuple(noted)
    return None, "result", ()
