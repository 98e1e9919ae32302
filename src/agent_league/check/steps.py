"""The model of a check: steps in a fixed order, what becomes of each, and the run that works through them.

Knows nothing of the agents: a step judges whatever bench it is given.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

TIMEOUTS_IN_A_ROW = 3
"""So many silent calls one after the other, and the rest is left out."""
TOLERATED = "Our league tolerates it; other hosts may not."


class Verdict(StrEnum):
    """What becomes of a step."""

    PASS = "pass"  # noqa: S105 - a verdict, not a secret
    WARNING = "warning"
    FAIL = "fail"
    SKIPPED = "skipped"


class Skip(Exception):
    """A step that can't be judged, and why."""


class NoReply(Exception):
    """A call that brought no HTTP answer; `silent` where the agent took it and said nothing in time."""

    def __init__(self, sentence: str, *, silent: bool = False, hint: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.silent = silent
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Finding:
    """What a judge says of a step; its hint, where it has one, takes the place of the step's own."""

    verdict: Verdict
    came: str = ""
    hint: str = ""
    ends: bool = False
    """Whether nothing can be judged after this."""
    is_tolerated: bool = False
    """Whether it costs an agent nothing in a league of ours, which the hint then says."""
    is_silent: bool = False
    """Whether the agent took the call and said nothing in time."""


def passed(came: str = "as expected") -> Finding:
    return Finding(Verdict.PASS, came)


def warned(came: str, hint: str = "") -> Finding:
    return Finding(Verdict.WARNING, came, hint)


def failed(came: str, hint: str = "", *, ends: bool = False) -> Finding:
    return Finding(Verdict.FAIL, came, hint, ends)


def tolerate(finding: Finding) -> Finding:
    """Make a failure or a warning one that says that a league of ours puts up with it; the rest stays as it is."""
    if finding.verdict not in (Verdict.FAIL, Verdict.WARNING):
        return finding
    return replace(finding, verdict=Verdict.WARNING, ends=False, is_tolerated=True)


class Workplace(Protocol):
    """What the run needs to know of the place where an agent is judged."""

    sent: list[str]
    """What was sent since the step began."""

    async def is_there(self) -> bool:
        """Whether anybody still listens at the agent's address."""
        ...


B = TypeVar("B", bound=Workplace)


@dataclass(frozen=True, slots=True)
class Step(Generic[B]):
    """One thing to judge. Where a vital one fails, nothing after it can be judged."""

    name: str
    expected: str
    hint: str
    judge: Callable[[B], Awaitable[Finding]]
    vital: bool = False


AnyStep = Step[Any]


def tolerate_all(judge: Callable[[Any], Awaitable[Finding]]) -> Callable[[Any], Awaitable[Finding]]:
    """The same for what a league of ours never does, or does without: no failure, as long as the agent is there."""

    async def judged(bench: Any) -> Finding:
        try:
            return tolerate(await judge(bench))
        except NoReply as error:
            if not error.silent and not await bench.is_there():
                raise
            return replace(tolerate(failed(error.sentence, error.hint)), is_silent=error.silent)

    return judged


def tolerate_step(step: AnyStep) -> AnyStep:
    """The same step on what no agent of ours looks at: a warning at most."""
    return replace(step, judge=tolerate_all(step.judge))


def judge_like_league(step: AnyStep, find_problem: Callable[[Any], str | None]) -> AnyStep:
    """The same step with a league's word on it: what `find_problem` has nothing against is a warning, else a failure.

    `find_problem` says why a league of ours doesn't take what came; None where it does.
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
    """A step that is done."""

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
    """A whole check."""

    url: str
    role: str
    dialect: str
    strict: bool
    started: str
    seconds: float
    outcomes: tuple[Outcome, ...]
    remarks: tuple[str, ...] = field(default=())
    unjudged: str = ""
    """Why the agent could not be judged in its role, and what to do, where what matters most never came about."""
    elsewhere: bool = False
    """Whether that is because the agent belongs to another league."""

    def count(self, verdict: Verdict) -> int:
        return sum(outcome.verdict is verdict for outcome in self.outcomes)

    @property
    def ok(self) -> bool:
        return not self.count(Verdict.FAIL) and not self.unjudged

    @property
    def exit_code(self) -> int:
        """0: all passed. 1: something failed, or what matters couldn't be judged. 2: nothing could be checked."""
        if self.elsewhere or not self.count(Verdict.PASS):
            return 2
        return 0 if self.ok else 1


def strictly(report: Report) -> Report:
    """The same with no tolerance: a warning is a failure."""
    return replace(report, strict=True, outcomes=tuple(map(hardened, report.outcomes)))


def hardened(outcome: Outcome) -> Outcome:
    return replace(outcome, verdict=Verdict.FAIL) if outcome.verdict is Verdict.WARNING else outcome


async def work_through(
    steps: Sequence[Step[B]], bench: B, bound: float, tell: Callable[[Outcome], Any] = lambda _: None
) -> list[Outcome]:
    """Judges all steps, within so many seconds; what can't be judged any more is skipped and says why."""
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
        except Exception as error:  # noqa: BLE001 - whatever an agent says, its check comes to its end
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
