"""The model of a check: steps, findings, outcomes and the report; runs the steps in order.

Knows nothing of agents and protocols: a step judges the subject that it is given.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum, auto
from typing import Any, Generic, Protocol, TypeVar

from agent_league.text import MAX_PHRASE, quote

MAX_SILENT_CALLS = 3
"""After this many calls in a row without an answer the other steps are skipped."""
TOLERATED_HINT = "Our league tolerates it; other hosts may not."


class StepVerdict(StrEnum):
    """The verdict on a step."""

    PASS = "pass"  # noqa: S105 - a verdict, not a secret
    WARNING = "warning"
    FAIL = "fail"
    SKIPPED = "skipped"


class SkipStep(Exception):
    """Raised by a judge to skip its step; the message says why."""


class NoReply(Exception):
    """A call without an HTTP response; `silent` if the agent accepted it and didn't answer in time."""

    def __init__(self, sentence: str, *, silent: bool = False, hint: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.silent = silent
        self.hint = hint


@dataclass(frozen=True, slots=True)
class StepFinding:
    """What a judge found in a step; its hint, if any, replaces the step's own."""

    verdict: StepVerdict
    came: str = ""
    hint: str = ""
    ends_check: bool = False
    """Whether all steps after this one are skipped."""
    is_tolerated: bool = False
    """Whether our own league tolerates it, which the hint then says."""
    is_unanswered: bool = False
    """Whether a call got no HTTP response."""
    is_silent: bool = False
    """Whether the agent accepted the call and didn't answer in time."""


def passed(came: str = "as expected") -> StepFinding:
    return StepFinding(StepVerdict.PASS, came)


def warned(came: str, hint: str = "") -> StepFinding:
    return StepFinding(StepVerdict.WARNING, came, hint)


def failed(came: str, hint: str = "", *, ends: bool = False) -> StepFinding:
    return StepFinding(StepVerdict.FAIL, came, hint, ends)


def tolerate(finding: StepFinding) -> StepFinding:
    """Make a failure or a warning a tolerated warning; return other findings unchanged."""
    if finding.verdict not in (StepVerdict.FAIL, StepVerdict.WARNING):
        return finding
    return replace(finding, verdict=StepVerdict.WARNING, ends_check=False, is_tolerated=True)


class CheckedAgent(Protocol):
    """What running the steps needs of the agent under check."""

    sent: list[str]
    """What was sent since the current step began."""

    @property
    def is_registered(self) -> bool:
        """Whether the checker's manager has accepted the agent."""
        ...

    async def is_there(self) -> bool:
        """Whether the agent still accepts connections."""
        ...


S_contra = TypeVar("S_contra", bound=CheckedAgent, contravariant=True)
B = TypeVar("B", bound=CheckedAgent)


class Severity(Enum):
    """What a failure in a step counts."""

    FAIL = auto()
    """As much as its judge says."""
    UNANSWERED_WARNS = auto()
    """As its judge says, but a call without a reply is only a warning: no match depends on it."""
    TOLERATED = auto()
    """Failures, and missing replies of an agent that still listens, are tolerated warnings."""
    TOLERATED_IF_REGISTERED = auto()
    """TOLERATED for an agent that the checker's manager has accepted, else FAIL."""


@dataclass(frozen=True, slots=True)
class CheckStep(Generic[S_contra]):
    """A row in a table of steps: what is judged, and how much it counts."""

    name: str
    expected: str
    hint: str
    judge: Callable[[S_contra], StepFinding | Awaitable[StepFinding]]
    """Sends what is to be sent and judges what came; raises SkipStep or NoReply."""
    severity: Severity = Severity.FAIL
    find_problem: Callable[[S_contra], str | None] | None = None
    """Why our own league refuses what came, or None if it accepts it: then a failure is a tolerated warning."""
    is_vital: bool = False
    """Whether all steps after this one are skipped if it fails."""
    needs: Callable[[S_contra], object] | None = None
    """Raises SkipStep if what the step needs has not happened; called before its judge."""


def require(needs: Callable[[B], object], *steps: CheckStep[B]) -> tuple[CheckStep[B], ...]:
    """Return steps that all need the same to have happened."""
    return tuple(replace(step, needs=needs) for step in steps)


async def judge_step(step: CheckStep[B], subject: B) -> StepFinding:
    """Judge a step, and weigh what was found by its severity."""
    is_tolerated = step.severity is Severity.TOLERATED or (
        step.severity is Severity.TOLERATED_IF_REGISTERED and subject.is_registered
    )
    try:
        if step.needs:
            step.needs(subject)
        found = step.judge(subject)
        finding = found if isinstance(found, StepFinding) else await found
    except NoReply as error:
        if step.severity is Severity.UNANSWERED_WARNS:
            return replace(warned(error.sentence, error.hint), is_silent=error.silent)
        if not is_tolerated or not (error.silent or await subject.is_there()):
            raise
        return replace(tolerate(failed(error.sentence, error.hint)), is_silent=error.silent)
    if is_tolerated:
        return tolerate(finding)
    if step.find_problem is None or finding.verdict not in (StepVerdict.FAIL, StepVerdict.WARNING):
        return finding
    problem = step.find_problem(subject)
    if problem is None:
        return tolerate(finding)
    return replace(finding, verdict=StepVerdict.FAIL, came=f"{finding.came}. A league refuses it: {problem}")


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """The result of one step, as reports show it; the field names are keys of the JSON report."""

    number: int
    name: str
    verdict: StepVerdict
    sent: str
    expected: str
    came: str
    hint: str
    seconds: float


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of a whole check."""

    url: str
    role: str
    dialect: str
    strict: bool
    started: str
    seconds: float
    outcomes: tuple[StepOutcome, ...]
    remarks: tuple[str, ...] = field(default=())
    unjudged: str = ""
    """Why the agent could not be judged in its role, and what to do; empty if it could."""
    is_in_other_league: bool = False
    """Whether it could not be judged because it belongs to another league."""

    def count_verdict(self, verdict: StepVerdict) -> int:
        return sum(outcome.verdict is verdict for outcome in self.outcomes)

    @property
    def ok(self) -> bool:
        return not self.count_verdict(StepVerdict.FAIL) and not self.unjudged

    @property
    def exit_code(self) -> int:
        """0: nothing failed. 1: something failed, or the role couldn't be judged. 2: nothing could be checked."""
        if self.is_in_other_league or not self.count_verdict(StepVerdict.PASS):
            return 2
        return 0 if self.ok else 1


def apply_strictness(report: CheckReport) -> CheckReport:
    """Return the report with every warning made a failure."""
    return replace(report, strict=True, outcomes=tuple(map(fail_on_warning, report.outcomes)))


def fail_on_warning(outcome: StepOutcome) -> StepOutcome:
    return replace(outcome, verdict=StepVerdict.FAIL) if outcome.verdict is StepVerdict.WARNING else outcome


async def run_steps(
    steps: Sequence[CheckStep[B]], subject: B, bound: float, on_outcome: Callable[[StepOutcome], Any] = lambda _: None
) -> list[StepOutcome]:
    """Run the steps in order, within `bound` seconds; steps that can't be judged any more are skipped with a reason."""
    outcomes: list[StepOutcome] = []
    deadline = asyncio.get_running_loop().time() + bound
    silences, end_reason = 0, ""
    for number, step in enumerate(steps, 1):
        subject.sent = []
        began = time.monotonic()
        if end_reason:
            finding = StepFinding(StepVerdict.SKIPPED, end_reason)
        else:
            over = f"the whole check may take {bound:g} s, and they are over"
            finding = await _judge_until(deadline, over, step, subject)
            if finding.is_silent or finding.verdict is not StepVerdict.SKIPPED:
                silences = silences + 1 if finding.is_silent else 0
            end_reason = await _find_end_reason(subject, finding, silences, step, number)
        outcomes.append(
            StepOutcome(
                number=number,
                name=step.name,
                verdict=finding.verdict,
                sent="\n".join(subject.sent),
                expected=step.expected,
                came=finding.came,
                hint=_write_hint(step, finding),
                seconds=time.monotonic() - began,
            )
        )
        on_outcome(outcomes[-1])
    return outcomes


async def _judge_until(deadline: float, over: str, step: CheckStep[B], subject: B) -> StepFinding:
    """Judge a step; whatever its judge raises is a finding, and after the deadline the step ends the check."""
    limit = asyncio.timeout_at(deadline)
    try:
        async with limit:
            return await judge_step(step, subject)
    except SkipStep as skip:
        return StepFinding(StepVerdict.SKIPPED, str(skip))
    except NoReply as error:
        return replace(failed(error.sentence, error.hint), is_silent=error.silent, is_unanswered=True)
    except Exception as error:  # noqa: BLE001 - no reply of an agent may abort its check
        if limit.expired():
            return StepFinding(StepVerdict.SKIPPED, over, ends_check=True)
        return failed(f"what came broke the checker itself: {quote(error, MAX_PHRASE)}")


async def _find_end_reason(subject: B, finding: StepFinding, silences: int, step: CheckStep[B], number: int) -> str:
    """Return why no step after this one can be judged; empty if they can."""
    if finding.is_unanswered and not finding.is_silent and not await subject.is_there():
        return f"nobody listens at the agent's address any more since step {number}"
    if silences >= MAX_SILENT_CALLS:
        return f"the agent left {silences} calls in a row without an answer"
    if finding.ends_check and finding.verdict is StepVerdict.SKIPPED:
        return finding.came
    if (finding.ends_check or step.is_vital) and finding.verdict is StepVerdict.FAIL:
        return f"nothing more can be judged, because step {number} ({step.name}) failed"
    return ""


def _write_hint(step: CheckStep[Any], finding: StepFinding) -> str:
    if finding.verdict is StepVerdict.PASS:
        return ""
    return " ".join(filter(None, [finding.hint or step.hint, TOLERATED_HINT if finding.is_tolerated else ""]))
