"""The run through the steps: bounded, and whatever can't be judged any more is skipped and says why."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from agent_league.check.steps import (
    CheckReport,
    CheckStep,
    NoReply,
    SkipStep,
    StepFinding,
    StepOutcome,
    StepVerdict,
    apply_strictness,
    failed,
    passed,
    run_steps,
    warned,
)
from tests.conftest import BOUND


class Place:
    """A bench on which nothing stands."""

    def __init__(self, *, there: bool = True) -> None:
        self.sent: list[str] = []
        self.there = there
        self.is_registered = False

    async def is_there(self) -> bool:
        return self.there


def judged(finding: StepFinding | Exception) -> Callable[[Place], Awaitable[StepFinding]]:
    async def judge(bench: Place) -> StepFinding:
        bench.sent.append("a question")
        if isinstance(finding, Exception):
            raise finding
        return finding

    return judge


def step(finding: StepFinding | Exception, *, vital: bool = False) -> CheckStep[Place]:
    return CheckStep("a step", "an answer", "mend it", judged(finding), is_vital=vital)


async def run(*steps: CheckStep[Place], there: bool = True, bound: float = BOUND) -> list[StepOutcome]:
    return await run_steps(steps, Place(there=there), bound)


def verdicts(outcomes: list[StepOutcome]) -> list[str]:
    return [str(outcome.verdict) for outcome in outcomes]


async def test_an_outcome_says_what_was_sent_expected_and_came_and_how_to_mend_it() -> None:
    (outcome,) = await run(step(failed("nonsense")))
    assert (outcome.number, outcome.sent, outcome.expected) == (1, "a question", "an answer")
    assert (outcome.came, outcome.hint) == ("nonsense", "mend it")


async def test_the_hint_of_a_finding_takes_the_place_of_the_steps_own_and_a_passed_step_has_none() -> None:
    first, second = await run(step(failed("nonsense", "do this")), step(passed()))
    assert (first.hint, second.hint) == ("do this", "")


async def test_after_a_vital_failure_the_rest_is_skipped_and_says_why() -> None:
    outcomes = await run(step(failed("nobody"), vital=True), step(passed()))
    assert verdicts(outcomes) == ["fail", "skipped"]
    assert outcomes[1].came == "nothing more can be judged, because step 1 (a step) failed"
    assert outcomes[1].sent == ""


async def test_a_warning_of_a_vital_step_ends_nothing() -> None:
    assert verdicts(await run(step(warned("hm"), vital=True), step(passed()))) == ["warning", "pass"]


async def test_after_three_silent_calls_in_a_row_the_rest_is_skipped() -> None:
    silent = step(NoReply("no answer within 5 s", silent=True))
    outcomes = await run(silent, silent, silent, step(passed()))
    assert verdicts(outcomes) == ["fail", "fail", "fail", "skipped"]
    assert outcomes[3].came == "the agent left 3 calls in a row without an answer"


async def test_an_answer_between_silent_calls_begins_the_count_anew_and_a_skipped_step_does_not() -> None:
    silent = step(NoReply("no answer within 5 s", silent=True))
    answered = await run(silent, silent, step(passed()), silent, step(passed()))
    assert verdicts(answered)[-1] == "pass"
    skipped = await run(silent, silent, step(SkipStep("no need")), silent, step(passed()))
    assert verdicts(skipped)[-1] == "skipped"


@pytest.mark.parametrize(("there", "then"), [(True, "pass"), (False, "skipped")])
async def test_where_a_connection_broke_off_it_counts_whether_anybody_still_listens(there: bool, then: str) -> None:
    outcomes = await run(step(NoReply("broke off")), step(passed()), there=there)
    assert verdicts(outcomes) == ["fail", then]


async def test_the_whole_run_is_bounded() -> None:
    async def hang(_: Place) -> StepFinding:
        await asyncio.Event().wait()
        return passed()

    async with asyncio.timeout(BOUND):
        outcomes = await run(CheckStep("hangs", "", "", hang), step(passed()), bound=0.05)
    assert verdicts(outcomes) == ["skipped", "skipped"]
    assert outcomes[1].came == "the whole check may take 0.05 s, and they are over"


async def test_an_answer_that_breaks_the_checker_fails_its_step_alone() -> None:
    outcomes = await run(step(KeyError("points")), step(passed()))
    assert verdicts(outcomes) == ["fail", "pass"]
    assert "KeyError('points')" in outcomes[0].came


async def test_a_limit_of_a_step_s_own_that_ran_out_is_not_the_end_of_the_whole_check() -> None:
    assert verdicts(await run(step(TimeoutError("mine")), step(passed()))) == ["fail", "pass"]


def test_strictly_a_warning_is_a_failure() -> None:
    outcome = StepOutcome(1, "a step", StepVerdict.WARNING, "", "", "", "", 0.1)
    report = CheckReport(
        "http://localhost:1/mcp", "player", "league.v2", False, "2025-01-15T10:30:00Z", 0.1, (outcome,)
    )
    assert report.ok
    assert not apply_strictness(report).ok
    assert apply_strictness(report).strict
