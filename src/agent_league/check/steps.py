"""The model of a check: steps, findings, outcomes and the report; runs the steps in order.

Knows nothing of agents and protocols: a step judges the subject that it is given.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

TIMEOUTS_IN_A_ROW = 3
"""After this many calls in a row without an answer the other steps are skipped."""
TOLERATED = "Our league tolerates it; other hosts may not."


class Verdict(StrEnum):
    """The verdict on a step."""

    PASS = "pass"  # noqa: S105 - a verdict, not a secret
    WARNING = "warning"
    FAIL = "fail"
    SKIPPED = "skipped"


class Skip(Exception):
    """Raised by a judge to skip its step; the message says why."""


class NoReply(Exception):
    """A call without an HTTP response; `silent` if the agent accepted it and didn't answer in time."""

    def __init__(self, sentence: str, *, silent: bool = False, hint: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.silent = silent
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Finding:
    """What a judge found in a step; its hint, if any, replaces the step's own."""

    verdict: Verdict
    came: str = ""
    hint: str = ""
    ends: bool = False
    """Whether all steps after this one are skipped."""
    is_tolerated: bool = False
    """Whether our own league tolerates it, which the hint then says."""
    is_silent: bool = False
    """Whether the agent accepted the call and didn't answer in time."""


def passed(came: str = "as expected") -> Finding:
    return Finding(Verdict.PASS, came)


def warned(came: str, hint: str = "") -> Finding:
    return Finding(Verdict.WARNING, came, hint)


def failed(came: str, hint: str = "", *, ends: bool = False) -> Finding:
    return Finding(Verdict.FAIL, came, hint, ends)


def tolerate(finding: Finding) -> Finding:
    """Make a failure or a warning a tolerated warning; return other findings unchanged."""
    if finding.verdict not in (Verdict.FAIL, Verdict.WARNING):
        return finding
    return replace(finding, verdict=Verdict.WARNING, ends=False, is_tolerated=True)


class Workplace(Protocol):
    """What running the steps needs of the agent under check."""

    sent: list[str]
    """What was sent since the current step began."""

    async def is_there(self) -> bool:
        """Whether the agent still accepts connections."""
        ...


B = TypeVar("B", bound=Workplace)


@dataclass(frozen=True, slots=True)
class Step(Generic[B]):
    """One thing to judge; if a vital step fails, all steps after it are skipped."""

    name: str
    expected: str
    hint: str
    judge: Callable[[B], Awaitable[Finding]]
    vital: bool = False


AnyStep = Step[Any]


def tolerate_all(judge: Callable[[Any], Awaitable[Finding]]) -> Callable[[Any], Awaitable[Finding]]:
    """Wrap a judge so that failures and missing replies are tolerated warnings, as long as the agent is listening."""

    async def judged(bench: Any) -> Finding:
        try:
            return tolerate(await judge(bench))
        except NoReply as error:
            if not error.silent and not await bench.is_there():
                raise
            return replace(tolerate(failed(error.sentence, error.hint)), is_silent=error.silent)

    return judged


def tolerate_step(step: AnyStep) -> AnyStep:
    """Return the step with its failures tolerated, for fields that no agent of ours reads."""
    return replace(step, judge=tolerate_all(step.judge))


def judge_like_league(step: AnyStep, find_problem: Callable[[Any], str | None]) -> AnyStep:
    """Return the step with failures and warnings judged as our own league would: tolerated, or a failure.

    `find_problem` says why our league refuses what came, or None if it accepts it.
    """

    async def judge(bench: Any) -> Finding:
        found = await step.judge(bench)
        if found.verdict not in (Verdict.FAIL, Verdict.WARNING):
            return found
        problem = find_problem(bench)
        if problem is None:
            return tolerate(found)
        return replace(found, verdict=Verdict.FAIL, came=f"{found.came}. A league refuses it: {problem}")

    return replace(step, judge=judge)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one step, as reports show it; the field names are keys of the JSON report."""

    number: int
    name: str
    verdict: Verdict
    sent: str
    expected: str
    came: str
    hint: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a whole check."""

    url: str
    role: str
    dialect: str
    strict: bool
    started: str
    seconds: float
    outcomes: tuple[Outcome, ...]
    remarks: tuple[str, ...] = field(default=())
    unjudged: str = ""
    """Why the agent could not be judged in its role, and what to do; empty if it could."""
    elsewhere: bool = False
    """Whether it could not be judged because it belongs to another league."""

    def count(self, verdict: Verdict) -> int:
        return sum(outcome.verdict is verdict for outcome in self.outcomes)

    @property
    def ok(self) -> bool:
        return not self.count(Verdict.FAIL) and not self.unjudged

    @property
    def exit_code(self) -> int:
        """0: nothing failed. 1: something failed, or the role couldn't be judged. 2: nothing could be checked."""
        if self.elsewhere or not self.count(Verdict.PASS):
            return 2
        return 0 if self.ok else 1


def strictly(report: Report) -> Report:
    """Return the report with every warning made a failure."""
    return replace(report, strict=True, outcomes=tuple(map(hardened, report.outcomes)))


def hardened(outcome: Outcome) -> Outcome:
    return replace(outcome, verdict=Verdict.FAIL) if outcome.verdict is Verdict.WARNING else outcome


async def work_through(
    steps: Sequence[Step[B]], bench: B, bound: float, tell: Callable[[Outcome], Any] = lambda _: None
) -> list[Outcome]:
    """Run the steps in order, within `bound` seconds; steps that can't be judged any more are skipped with a reason."""
    outcomes: list[Outcome] = []
    deadline = asyncio.get_running_loop().time() + bound
    silences, gone = 0, ""
    for number, step in enumerate(steps, 1):
        bench.sent = []
        began = time.monotonic()
        silent = False
        limit = asyncio.timeout_at(deadline)
        try:
            if gone:
                raise Skip(gone)
            async with limit:
                finding = await step.judge(bench)
        except Skip as skip:
            finding = Finding(Verdict.SKIPPED, str(skip))
        except NoReply as error:
            finding, silent = failed(error.sentence, error.hint), error.silent
            if not silent and not await bench.is_there():
                gone = f"nobody listens at the agent's address any more since step {number}"
        except Exception as error:  # noqa: BLE001 - no reply of an agent may abort its check
            if limit.expired():
                gone = f"the whole check may take {bound:g} s, and they are over"
                finding = Finding(Verdict.SKIPPED, gone)
            else:
                finding = failed(f"what came broke the checker itself: {error!r:.300}")
        silent = silent or finding.is_silent
        silences = 0 if finding.verdict is not Verdict.SKIPPED and not silent else silences + silent
        if silences >= TIMEOUTS_IN_A_ROW and not gone:
            gone = f"the agent left {silences} calls in a row without an answer"
        if finding.ends and finding.verdict is Verdict.SKIPPED:
            gone = finding.came
        elif (finding.ends or step.vital) and finding.verdict is Verdict.FAIL and not gone:
            gone = f"nothing more can be judged, because step {number} ({step.name}) failed"
        outcomes.append(
            Outcome(
                number=number,
                name=step.name,
                verdict=finding.verdict,
                sent="\n".join(bench.sent),
                expected=step.expected,
                came=finding.came,
                hint=_write_hint(step, finding),
                seconds=time.monotonic() - began,
            )
        )
        tell(outcomes[-1])
    return outcomes


def _write_hint(step: AnyStep, finding: Finding) -> str:
    if finding.verdict is Verdict.PASS:
        return ""
    return " ".join(filter(None, [finding.hint or step.hint, TOLERATED if finding.is_tolerated else ""]))
