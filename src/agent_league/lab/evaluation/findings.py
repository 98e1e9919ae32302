"""Sentences and tables of an evaluation that terminal, Markdown and HTML share. Pure."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_league.lab.evaluation.criteria import Criterion, Judgement, judge
from agent_league.lab.evaluation.model import Encounter, Ending, Evaluation
from agent_league.lab.evaluation.plots import duration
from agent_league.lab.statistics import Estimate

SHOWN_FAULTS = 10
NONE = "-"
HOW_TO_READ = (
    "W/D/L are the games won, drawn and lost; technical losses are lost. A win rate is won games by all. Its 95% "
    "interval is at each end the outer one of Wilson's over games and of Student's over 10 blocks of consecutive "
    "games: the latter is wider where games hang together, as those of a player that learns. A mean payoff has the "
    "latter. p is how likely a result at least so uneven is among equals: the exact two-sided binomial test of won "
    "against lost games, draws left out. It takes games as independent. Several opponents are several chances to be "
    "lucky, so the last column has it corrected after Holm. Games that the opponent failed are left out of all of "
    "this. A player that learns makes its games alike, and it remembers the earlier opponents of this evaluation: "
    "evaluate it again, started afresh and with another --seed, to see how far results are apart."
)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of text cells."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def sentence(evaluation: Evaluation) -> str:
    """Summarise the verdicts in one line."""
    criteria = judge(evaluation)
    counts = {verdict: sum(one.verdict is verdict for one in criteria) for verdict in Judgement}
    judged = f"{counts[Judgement.PASS]} of {len(criteria)} criteria fulfilled, {counts[Judgement.FAIL]} not"
    open_ = f", {counts[Judgement.NOT_JUDGED]} not judged" if counts[Judgement.NOT_JUDGED] else ""
    return f"{judged}{open_}."


def facts(evaluation: Evaluation) -> Sheet:
    """Make the table of basic facts: player, protocol, game, number of games, seed, time."""
    games = len(evaluation.games)
    parameters = ", ".join(f"{name} {value}" for name, value in evaluation.parameters.items())
    speed = f" ({games / evaluation.playing:.0f} a second)" if evaluation.playing > 0 else ""
    interrupted = " (interrupted)" if evaluation.interrupted else ""
    rows = (
        ("Player", evaluation.player),
        ("Where", evaluation.where),
        ("Protocol", evaluation.protocol),
        ("Game", evaluation.title + (f" ({parameters})" if parameters else "")),
        ("Games", f"{games} in {evaluation.playing:.1f} s{speed}; asked for: {evaluation.wanted} per opponent"),
        ("Earlier version", evaluation.earlier or "none was named"),
        ("Seed", evaluation.seed),
        ("Begun", evaluation.started + interrupted),
    )
    return Sheet(("", ""), rows)


def criteria_sheet(criteria: Sequence[Criterion]) -> Sheet:
    rows = tuple(
        (one.verdict.value, one.name, " ".join(filter(None, (with_stop(one.found), one.note)))) for one in criteria
    )
    return Sheet(("", "Criterion", "Found"), rows)


def results_sheet(evaluation: Evaluation) -> Sheet:
    """Make a table with a row for each opponent with games; why others have none is a remark."""
    paid = evaluation.has_amounts
    head = ("Opponent", "Games", "W/D/L", "Win rate (95%)", "p", "p (Holm)")
    rows = tuple(_result_row(evaluation, series, paid=paid) for series in evaluation.series if series.games)
    return Sheet((*head, "Payoff (95%)") if paid else head, rows)


def who_they_are(evaluation: Evaluation) -> str:
    """Describe how the opponents play, in a sentence."""
    told = "; ".join(f"{series.opponent}: {series.says}" for series in evaluation.series if series.games)
    return with_stop(told) if told else ""


def _result_row(evaluation: Evaluation, series: Encounter, *, paid: bool) -> tuple[str, ...]:
    score = series.score
    adjusted = evaluation.adjusted.get(series.opponent)
    return (
        series.opponent,
        str(len(series.counted)),
        f"{score.tally.wins}/{score.tally.draws}/{score.tally.losses}",
        _share(score.win_rate) if series.counted else NONE,
        NONE if adjusted is None else _p(series.p_value),
        NONE if adjusted is None else _p(adjusted),
        *([_amount(score.mean_payoff)] if paid else []),
    )


def times_sheet(evaluation: Evaluation) -> Sheet:
    times = evaluation.times
    head = ("Answers", "Median", "95th percentile", "Longest", "Timeouts")
    if times is None:
        return Sheet(head, (("0", NONE, NONE, NONE, str(evaluation.timeouts)),))
    row = (str(times.answers), duration(times.median), duration(times.late), duration(times.longest))
    return Sheet(head, ((*row, str(evaluation.timeouts)),))


def faults_sheet(evaluation: Evaluation) -> Sheet:
    """Make the table of the most frequent message faults."""
    rows = tuple((str(count), fault.where, fault.what) for fault, count in evaluation.faults[:SHOWN_FAULTS])
    return Sheet(("Times", "In answer to", "What is wrong"), rows)


def remarks(evaluation: Evaluation) -> Iterator[str]:
    """Yield remarks on shortened series, technical losses, walkovers and failed steps with bad input."""
    for series in evaluation.series:
        if series.cut_short:
            told = f"after {games_of(len(series.games))}: " if series.games else "not played: "
            yield f"{series.opponent}: {told}{series.cut_short}."
        if failed := ", ".join(f"{how.replace('_', ' ')} {count}" for how, count in series.technical.items()):
            yield f"{series.opponent}: lost technically: {failed}."
        if walkovers := series.count(Ending.WALKOVER):
            yield f"{series.opponent}: it failed in {games_of(walkovers)} itself; they are left out."
    more = len(evaluation.faults) - SHOWN_FAULTS
    if more > 0:
        yield f"{more} more kinds of faults in messages are in evaluation.json."
    done = evaluation.conformance
    yield from (f"Bad input, failed: {fault.where}: {fault.what}" for fault in done.failed[:SHOWN_FAULTS])
    yield from evaluation.remarks


def failed(criteria: Sequence[Criterion]) -> bool:
    """Whether any criterion failed."""
    return any(one.verdict is Judgement.FAIL for one in criteria)


def _share(share: Estimate) -> str:
    return f"{share.value:.1%} ({100 * share.low:.1f} - {100 * share.high:.1f})"


def _amount(amount: Estimate | None) -> str:
    if amount is None:
        return NONE
    if math.isinf(amount.low):
        return f"{amount.value:.4g}"
    width = amount.high - amount.low
    digits = min(6, max(0, 1 - math.floor(math.log10(width)))) if width > 0 else 2
    return f"{amount.value:.{digits}f} ({amount.low:.{digits}f} to {amount.high:.{digits}f})"


def _p(value: float) -> str:
    return "<0.0001" if value < 0.0001 else f"{value:.4f}" if value < 0.1 else f"{value:.2f}"


def warnings(evaluation: Evaluation) -> Iterator[str]:
    """Yield the warnings of the steps with bad input."""
    done = evaluation.conformance
    yield from (f"Bad input, warning: {fault.where}: {fault.what}" for fault in done.warned[:SHOWN_FAULTS])


def games_of(number: int) -> str:
    return "1 game" if number == 1 else f"{number} games"


def with_stop(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
