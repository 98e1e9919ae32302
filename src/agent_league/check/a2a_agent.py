"""The check of an A2A agent: its card, where and how it may be called, and whether it plays. Steps as a table.

The agent is asked as `league invite-a2a` would ask it, in matches that count for nobody.
"""

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_league.a2a.agent_card import (
    A2aAgent,
    CardProblem,
    build_auth_headers,
    fetch_card,
    narrow_card,
    parse_card_url,
    split_host,
)
from agent_league.a2a.conversation import A2aPeer, AgentReply, MatchConversation, describe_failed_task
from agent_league.a2a.questions import MatchMessage, read_move, write_question, write_result
from agent_league.check.http_probe import HttpProbe
from agent_league.check.scripted_agents import format_now
from agent_league.check.steps import (
    CheckReport,
    CheckStep,
    NoReply,
    Severity,
    SkipStep,
    StepFinding,
    StepOutcome,
    StepVerdict,
    apply_strictness,
    fail_on_warning,
    failed,
    passed,
    run_steps,
    warned,
)
from agent_league.check.subject import CheckOptions
from agent_league.errors import CallFailed, JsonRpcErrorCode, PeerTimeout, PeerUnreachable
from agent_league.players.observation import GameRecord, Observation
from agent_league.text import MAX_PHRASE, MAX_SENTENCE, quote, to_printable

CARD_SECONDS = 10.0
CARD_FIELDS = (
    "name",
    "description",
    "version",
    "supportedInterfaces",
    "capabilities",
    "defaultInputModes",
    "defaultOutputModes",
    "skills",
)
"""What a card of A2A 1.0 must have."""
SKILL_FIELDS = ("id", "name", "description", "tags")
GAME = "tic_tac_toe"
CELLS = tuple(range(9))


@dataclass
class A2aSubject:
    """The agent under check, and what is known of it so far."""

    card_url: str
    options: CheckOptions
    secret: str | None
    other_origins: Sequence[str]
    probe: HttpProbe
    sent: list[str] = field(default_factory=list)
    agent: A2aAgent | None = None
    peer: A2aPeer | None = None
    first: MatchConversation = field(default_factory=MatchConversation)
    second: MatchConversation = field(default_factory=MatchConversation)
    reply: AgentReply | None = None
    seconds: list[float] = field(default_factory=list)
    """How long each answer took."""

    @property
    def is_registered(self) -> bool:
        return False

    @property
    def allowed_hosts(self) -> list[str]:
        return [split_host(self.card_url), *map(split_host, self.other_origins)]

    async def is_there(self) -> bool:
        return await self.probe.wait_until_listening(0) is None

    async def close(self) -> None:
        if self.peer:
            await self.peer.close()
        await self.probe.close()

    async def ask(self, context: MatchConversation, message: MatchMessage) -> AgentReply:
        """Send a message of a match; raises NoReply if nothing comes, CallFailed if what comes can't be used."""
        if self.peer is None:
            raise SkipStep("it can't be called")
        self.sent.append(to_printable(str(message.data), MAX_SENTENCE))
        limit, began = self.options.get_limit("make_move"), time.monotonic()
        try:
            return await self.peer.send(context, message.data, message.text, limit)
        except PeerTimeout as error:
            raise NoReply(error.message, silent=True) from None
        except PeerUnreachable as error:
            raise NoReply(error.message) from None
        finally:
            self.seconds.append(time.monotonic() - began)


def observe(match_id: str, board: str = ".........", step: int = 0) -> Observation:
    """The situation that the agent is asked about."""
    free = tuple(cell for cell in CELLS if board[cell] == ".")
    view = {"board": board, "turn": 0, "winner": None}
    return Observation(GAME, match_id, "P01", "P02", free, view, step=step, round_id=1)


async def _judge_card(subject: A2aSubject) -> StepFinding:
    subject.sent.append(f"GET {subject.card_url}")
    try:
        card = await fetch_card(subject.card_url, subject.allowed_hosts)
    except CardProblem as error:
        return failed(str(error))
    return passed(f"the card of {quote(card.name)}, version {quote(card.version)}")


async def _judge_card_fields(subject: A2aSubject) -> StepFinding:
    reply = await subject.probe.get(subject.card_url, CARD_SECONDS)
    raw = reply.json_value if isinstance(reply.json_value, Mapping) else {}
    missing = [name for name in CARD_FIELDS if name not in raw]
    for place, skill in enumerate(raw.get("skills") or []):
        own = skill if isinstance(skill, Mapping) else {}
        missing += [f"skills[{place}].{name}" for name in SKILL_FIELDS if name not in own]
    if "url" in raw and "supportedInterfaces" not in raw:
        return warned("a card of A2A 0.3: it has `url` in place of `supportedInterfaces`")
    return warned(f"missing: {', '.join(missing[:12])}") if missing else passed("all required fields are there")


async def _judge_interface(subject: A2aSubject) -> StepFinding:
    card = await fetch_card(subject.card_url, subject.allowed_hosts)
    try:
        subject.agent = narrow_card(card, subject.card_url, subject.allowed_hosts, subject.other_origins)
    except CardProblem as error:
        return failed(str(error))
    return passed(f"{subject.agent.interface.url} ({subject.agent.describe()})")


async def _judge_authentication(subject: A2aSubject) -> StepFinding:
    if subject.agent is None:
        raise SkipStep("it can't be called")
    try:
        headers = build_auth_headers(subject.agent.card, subject.secret)
    except CardProblem as error:
        return failed(str(error))
    subject.peer = A2aPeer(subject.agent, headers)
    return passed(f"sent in the header {next(iter(headers))}" if headers else "the card asks for none")


async def _judge_move(
    subject: A2aSubject, context: MatchConversation, observation: Observation, refused: Any = None
) -> StepFinding:
    """Ask for a move and judge whether what comes is one."""
    try:
        reply = await subject.ask(context, write_question(observation, refused))
    except CallFailed as error:
        return failed(error.message, _explain_failure(error))
    subject.reply = reply
    if problem := describe_failed_task(reply):
        return failed(problem, "Answer with a task in input-required or completed, or with a message.")
    move = read_move(reply.data, reply.texts, observation.legal_moves)
    if move is None:
        return failed("neither text nor a data part", 'Put the move into a data part {"move": 4}, or into a text part.')
    if not observation.is_legal(move):
        return failed(f"{quote(move, MAX_PHRASE)}, which is none of the legal moves")
    return passed(f"the move {quote(move)} in a {reply.form} ({reply.state_name})")


def _explain_failure(error: CallFailed) -> str:
    text = error.message.lower()
    if "401" in text or "403" in text:
        return "It refuses the caller: name the scheme in the card's securityRequirements, and give its secret."
    if re.search(r"\bhttp 5\d\d\b", text):
        return "Your server broke down: its own log says why. Catch the error, and answer with a JSON-RPC error."
    if "method not found" in text or "404" in text:
        return "The interface's url has to be the address that is posted to, its protocolVersion what is spoken there."
    return ""


async def _judge_ids(subject: A2aSubject) -> StepFinding:
    if subject.reply is None:
        raise SkipStep("no answer came")
    if not subject.first.context_id:
        return failed("a reply without contextId")
    if subject.reply.form != "message" and not subject.reply.task_id:
        return failed("a task without id")
    return passed(f"contextId {quote(subject.first.context_id)}")


async def _judge_next_move(subject: A2aSubject) -> StepFinding:
    earlier = subject.first.context_id
    found = await _judge_move(subject, subject.first, observe("CHECK1", "X...O....", 2))
    if subject.first.context_id != earlier:
        return failed(f"another contextId, {quote(subject.first.context_id)}, after {quote(earlier)}")
    return found


async def _judge_other_match(subject: A2aSubject) -> StepFinding:
    one, other = await asyncio.gather(
        _judge_move(subject, subject.first, observe("CHECK1", "XX..OO...", 4)),
        _judge_move(subject, subject.second, observe("CHECK2")),
    )
    if subject.first.context_id == subject.second.context_id:
        return failed(f"the same contextId, {quote(subject.first.context_id)}, for both")
    return one if one.verdict is StepVerdict.FAIL else other


async def _judge_result(subject: A2aSubject) -> StepFinding:
    try:
        reply = await subject.ask(subject.first, write_result(GameRecord("CHECK1", GAME, "P02", "WIN", (0,), (4,))))
    except CallFailed as error:
        return warned(error.message)
    if problem := describe_failed_task(reply):
        return warned(problem)
    return passed(f"a {reply.form} ({reply.state_name})")


async def _judge_unknown_method(subject: A2aSubject) -> StepFinding:
    if subject.agent is None or subject.agent.interface.protocol_binding != "JSONRPC":
        raise SkipStep("its interface is no JSON-RPC")
    frame = b'{"jsonrpc": "2.0", "id": 1, "method": "NoSuchMethod", "params": {}}'
    subject.sent.append(frame.decode())
    probe = HttpProbe(subject.agent.interface.url)
    try:
        reply = await probe.post(frame, CARD_SECONDS)
    finally:
        await probe.close()
    body = reply.json_value
    error = body.get("error") if isinstance(body, Mapping) else None
    code = error.get("code") if isinstance(error, Mapping) else None
    if code == JsonRpcErrorCode.METHOD_NOT_FOUND:
        return passed(f"the error {code}")
    return warned(f"HTTP {reply.status}, code {quote(code)}")


async def _judge_speed(subject: A2aSubject) -> StepFinding:
    if not subject.seconds:
        raise SkipStep("no answer came")
    slowest, limit = max(subject.seconds), subject.options.timeouts.move_timeout_sec
    came = f"at most {slowest:.2f} s"
    return passed(came) if slowest < limit / 2 else warned(came)


STEPS: tuple[CheckStep[A2aSubject], ...] = (
    CheckStep(
        "the card is served",
        "HTTP 200 with the JSON object of an agent card",
        "Serve the card at /.well-known/agent-card.json, uncompressed and without a redirect.",
        _judge_card,
        is_vital=True,
    ),
    CheckStep(
        "the card has all fields",
        ", ".join(CARD_FIELDS),
        "A2A 1.0 requires them; other clients may refuse a card without.",
        _judge_card_fields,
    ),
    CheckStep(
        "an interface can be called",
        "JSONRPC or HTTP+JSON, A2A 1.0 or 0.3, at the card's own origin",
        "Name one in supportedInterfaces, with the scheme, host and port that the card is served at.",
        _judge_interface,
        is_vital=True,
    ),
    CheckStep(
        "authentication",
        "none, or a scheme of the card with its secret",
        "Give the secret with --secret-file, or name another scheme in the card.",
        _judge_authentication,
        is_vital=True,
    ),
    CheckStep(
        "a question is answered with a legal move",
        "one of 0 to 8",
        'Answer with a data part {"move": 4}, or with the move as text.',
        lambda subject: _judge_move(subject, subject.first, observe("CHECK1")),
        is_vital=True,
    ),
    CheckStep(
        "the reply names its context",
        "contextId, and a task's id",
        "Without contextId the questions of a match don't belong together.",
        _judge_ids,
    ),
    CheckStep(
        "the next question of the match",
        "a legal move, in the same context",
        "Take a message for a task in input-required, or a new one with the same contextId.",
        _judge_next_move,
    ),
    CheckStep(
        "an illegal move is mended",
        "a legal move after `refused_move`",
        "Look at `refused_move`, and choose another one of `legal_moves`.",
        lambda subject: _judge_move(subject, subject.second, observe("CHECK2"), 99),
    ),
    CheckStep(
        "two matches at once are kept apart",
        "a legal move in each, in contexts of their own",
        "A player has several matches at once; keep what you know by contextId.",
        _judge_other_match,
    ),
    CheckStep(
        "the end of a match is understood",
        "any reply to `match_over`",
        "Answer a data part of kind match_over, or complete the task.",
        _judge_result,
        Severity.UNANSWERED_WARNS,
    ),
    CheckStep(
        "an unknown method is refused",
        "JSON-RPC's error -32601",
        "Answer unknown methods with the error -32601.",
        _judge_unknown_method,
        Severity.UNANSWERED_WARNS,
    ),
    CheckStep(
        "answers come in time",
        "less than half of the limit for a move",
        "Late moves are lost; a league's limit is timeouts.move_timeout_sec.",
        _judge_speed,
    ),
)


async def check_a2a_agent(
    url: str,
    options: CheckOptions,
    secret: str | None = None,
    other_origins: Sequence[str] = (),
    *,
    strict: bool = False,
    on_outcome: Callable[[StepOutcome], Any] = lambda _: None,
) -> CheckReport:
    """Check the A2A agent with a card; `on_outcome` is called after each step."""
    card_url = parse_card_url(url, "URL")
    began, started = time.monotonic(), format_now()
    subject = A2aSubject(card_url, options, secret, other_origins, HttpProbe(card_url))
    try:
        await subject.probe.wait_until_listening(options.wait_seconds)
        outcomes = await run_steps(
            STEPS,
            subject,
            options.total_seconds,
            lambda outcome: on_outcome(fail_on_warning(outcome) if strict else outcome),
        )
    finally:
        await subject.close()
    report = CheckReport(
        url=card_url,
        role="player",
        dialect=subject.agent.describe() if subject.agent else "A2A",
        strict=False,
        started=started,
        seconds=time.monotonic() - began,
        outcomes=tuple(outcomes),
    )
    return apply_strictness(report) if strict else report
