"""The quick check of a player that has signed up for a practice ladder: can it be reached, and does it join and move?

Its calls carry the league's own signature, so that the player answers as in a match; nothing of it is a result.
"""

from collections.abc import Sequence
from typing import Any

from agent_league.check.http_probe import HttpProbe
from agent_league.check.player import build_quick_player_steps
from agent_league.check.player_subject import (
    CheckQuestion,
    PlayerSubject,
    TrialPlayer,
    V1PlayerSubject,
    choose_question,
)
from agent_league.check.player_v1 import build_quick_player_v1_steps
from agent_league.check.steps import CheckStep, StepOutcome, StepVerdict, run_steps
from agent_league.check.subject import CheckOptions
from agent_league.clock import SystemClock, format_utc
from agent_league.league.ladder_conductor import CheckOrder
from agent_league.model.ladder import CheckSummary
from agent_league.protocol.tolerance import FORM_BY_NAME
from agent_league.protocol.version import PROTOCOL_V1
from agent_league.text import MAX_SENTENCE, redact_addresses, redact_keys, redact_tokens, shorten

TOTAL_SECONDS = 60.0
"""How long the whole check may take."""
MAX_FINDINGS = 20
JUDGED = (StepVerdict.PASS, StepVerdict.WARNING, StepVerdict.FAIL)


class CheckedLadderPlayer(PlayerSubject):
    """A player of a running league, called in that league's name."""

    def __init__(self, probe: HttpProbe, options: CheckOptions, order: CheckOrder) -> None:
        super().__init__(probe, options, order.signing_key, None)
        self._order = order
        self.agent_id = order.member.agent_id
        self.call_form = FORM_BY_NAME.get(order.member.protocol_profile.call_form, self.call_form)

    @property
    def league_id(self) -> str:
        return self._order.league.league_id

    async def open(self) -> None:
        await super().open()
        self.question = _find_question(self._order)


class LadderPlayerV1(V1PlayerSubject):
    """The same of a player of `league.v1`."""

    def __init__(self, probe: HttpProbe, options: CheckOptions, order: CheckOrder) -> None:
        super().__init__(probe, options, order.signing_key, None)
        self.agent_id = order.member.agent_id


async def check_ladder_player(order: CheckOrder) -> CheckSummary:
    """Check a player by the quick steps; what it does wrong is a finding, never an error."""
    options = CheckOptions(total_seconds=TOTAL_SECONDS, timeouts=order.system.timeouts)
    probe = HttpProbe(order.member.agent.endpoint)
    is_v1 = order.member.protocol_profile.protocol == PROTOCOL_V1
    steps: list[CheckStep[Any]] = [
        *(build_quick_player_v1_steps() if is_v1 else build_quick_player_steps(_find_question(order)))
    ]
    subject: TrialPlayer = (LadderPlayerV1 if is_v1 else CheckedLadderPlayer)(probe, options, order)
    try:
        await subject.open()
        outcomes = await run_steps(steps, subject, TOTAL_SECONDS)
    finally:
        await subject.close()
        await probe.close()
    return summarise_check(outcomes, order.member.agent.version, subject.unjudged_reason)


def _find_question(order: CheckOrder) -> CheckQuestion:
    return choose_question([order.league.game_type])


def summarise_check(outcomes: Sequence[StepOutcome], version: str, unjudged: str) -> CheckSummary:
    """Make the summary that the league keeps, without addresses, tokens and keys."""
    judged = [outcome for outcome in outcomes if outcome.verdict in JUDGED]
    passed = sum(outcome.verdict is not StepVerdict.FAIL for outcome in judged)
    findings = [
        {"step": one.name, "verdict": str(one.verdict), "came": _clean(one.came), "hint": _clean(one.hint)}
        for one in judged
        if one.verdict is not StepVerdict.PASS
    ]
    findings.sort(key=lambda one: one["verdict"] != StepVerdict.FAIL)
    return CheckSummary(
        passed,
        len(judged),
        tuple(findings[:MAX_FINDINGS]),
        format_utc(SystemClock().now()),
        version,
        "" if judged else _clean(unjudged or "no step could be judged"),
    )


def _clean(text: str) -> str:
    return shorten(redact_addresses(redact_keys(redact_tokens(text))), MAX_SENTENCE)
