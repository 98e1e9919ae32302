"""Sentences and tables of an evaluation that terminal, Markdown and HTML share. Pure."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agent_league.lab.charts import format_seconds
from agent_league.lab.evaluation.criteria import Criterion, CriterionVerdict, judge_criteria
from agent_league.lab.evaluation.model import Evaluation, GameEnding, OpponentSeries
from agent_league.model.tables import DataTable
from agent_league.ratings.numpy_import import import_numpy
from agent_league.ratings.statistics import Estimate

if TYPE_CHECKING:
    from agent_league.lab.evaluation.evaluation_ratings import EvaluationRatings

MAX_SHOWN_FAULTS = 10
EMPTY_CELL = "-"
HOW_TO_READ = (
    "W/D/L are the games won, drawn and lost; technical losses are lost. A win rate is won games by all. Its 95% "
    "interval is at each end the outer one of Wilson's over games and of Student's over seeds: the latter is wider "
    "where games hang together, as those of a player that learns. A mean payoff has the latter. Strategies begin each "
    "seed without memory. p is how likely a result at least so uneven is among equals: the exact two-sided binomial "
    "test of won against lost games, draws left out. It takes games as independent. Several opponents are several "
    "chances to be lucky, so the last column has it corrected after Holm. Games that the opponent failed are left out "
    "of all of this. A running player that learns makes its games alike, and remembers the earlier ones of this "
    "evaluation: evaluate it again, started afresh and with another --seed, to see how far results are apart. Ratings "
    "are one fit of all games of the player and its opponents, who don't meet each other; their intervals are over "
    "seeds, too."
)


def summary_sentence(evaluation: Evaluation) -> str:
    """Summarise the verdicts in one line."""
    criteria = judge_criteria(evaluation)
    counts = {verdict: sum(one.verdict is verdict for one in criteria) for verdict in CriterionVerdict}
    judged = (
        f"{counts[CriterionVerdict.PASS]} of {len(criteria)} criteria fulfilled, {counts[CriterionVerdict.FAIL]} not"
    )
    open_ = f", {counts[CriterionVerdict.NOT_JUDGED]} not judged" if counts[CriterionVerdict.NOT_JUDGED] else ""
    return f"{judged}{open_}."


def facts_table(evaluation: Evaluation) -> DataTable:
    """Make the table of basic facts: player, protocol, game, number of games, seed, time."""
    games = len(evaluation.games)
    parameters = ", ".join(f"{name} {value}" for name, value in evaluation.parameters.items())
    speed = f" ({games / evaluation.playing_seconds:.0f} a second)" if evaluation.playing_seconds > 0 else ""
    interrupted = " (interrupted)" if evaluation.interrupted else ""
    rows = (
        ("Player", evaluation.player),
        ("Where", evaluation.location),
        ("Protocol", evaluation.protocol),
        ("Game", evaluation.title + (f" ({parameters})" if parameters else "")),
        (
            "Games",
            f"{games} in {evaluation.playing_seconds:.1f} s{speed}; asked for: {evaluation.games_wanted} per opponent",
        ),
        ("Earlier version", evaluation.earlier or "none was named"),
        ("Seed", evaluation.seed),
        ("Begun", evaluation.started_at + interrupted),
    )
    return DataTable(("", ""), rows)


def criteria_table(criteria: Sequence[Criterion]) -> DataTable:
    rows = tuple(
        (one.verdict.value, one.name, " ".join(filter(None, (end_sentence(one.found), one.note)))) for one in criteria
    )
    return DataTable(("", "Criterion", "Found"), rows)


def results_table(evaluation: Evaluation) -> DataTable:
    """Make a table with a row for each opponent with games; why others have none is a remark."""
    paid = evaluation.has_amounts
    head = ("Opponent", "Games", "W/D/L", "Win rate (95%)", "p", "p (Holm)")
    rows = tuple(_make_result_row(evaluation, series, paid=paid) for series in evaluation.series if series.games)
    return DataTable((*head, "Payoff (95%)") if paid else head, rows)


def find_ratings(evaluation: Evaluation) -> "EvaluationRatings | None":
    """Rate the player and its opponents; None without games."""
    import_numpy()
    from agent_league.lab.evaluation.evaluation_ratings import rate_evaluation  # noqa: PLC0415 - loads numpy

    return rate_evaluation(evaluation)


def describe_opponents(evaluation: Evaluation) -> str:
    """Describe how the opponents play, in a sentence."""
    told = "; ".join(f"{series.opponent}: {series.description}" for series in evaluation.series if series.games)
    return end_sentence(told) if told else ""


def _make_result_row(evaluation: Evaluation, series: OpponentSeries, *, paid: bool) -> tuple[str, ...]:
    score = series.score
    adjusted = evaluation.adjusted_p_values.get(series.opponent)
    return (
        series.opponent,
        str(len(series.valid_games)),
        f"{score.tally.wins}/{score.tally.draws}/{score.tally.losses}",
        _format_share(score.win_rate) if series.valid_games else EMPTY_CELL,
        EMPTY_CELL if adjusted is None else _format_p_value(series.p_value),
        EMPTY_CELL if adjusted is None else _format_p_value(adjusted),
        *([_format_payoff(score.mean_payoff)] if paid else []),
    )


def times_table(evaluation: Evaluation) -> DataTable:
    times = evaluation.response_times
    head = ("Answers", "Median", "95th percentile", "Longest", "Timeouts")
    if times is None:
        return DataTable(head, (("0", EMPTY_CELL, EMPTY_CELL, EMPTY_CELL, str(evaluation.timeout_count)),))
    row = (str(times.answers), format_seconds(times.median), format_seconds(times.late), format_seconds(times.longest))
    return DataTable(head, ((*row, str(evaluation.timeout_count)),))


def faults_table(evaluation: Evaluation) -> DataTable:
    """Make the table of the most frequent message faults."""
    rows = tuple(
        (str(count), fault.where, fault.what) for fault, count in evaluation.faults_by_frequency[:MAX_SHOWN_FAULTS]
    )
    return DataTable(("Times", "In answer to", "What is wrong"), rows)


def list_remarks(evaluation: Evaluation) -> Iterator[str]:
    """Yield remarks on shortened series, technical losses, walkovers and failed steps with bad input."""
    for series in evaluation.series:
        if series.cut_short_reason:
            told = f"after {games_text(len(series.games))}: " if series.games else "not played: "
            yield f"{series.opponent}: {told}{series.cut_short_reason}."
        if failed := ", ".join(f"{how.replace('_', ' ')} {count}" for how, count in series.technical_losses.items()):
            yield f"{series.opponent}: lost technically: {failed}."
        if walkovers := series.count_ending(GameEnding.WALKOVER):
            yield f"{series.opponent}: it failed in {games_text(walkovers)} itself; they are left out."
    more = len(evaluation.faults_by_frequency) - MAX_SHOWN_FAULTS
    if more > 0:
        yield f"{more} more kinds of faults in messages are in evaluation.json."
    done = evaluation.conformance
    yield from (f"Bad input, failed: {fault.where}: {fault.what}" for fault in done.failed[:MAX_SHOWN_FAULTS])
    yield from evaluation.remarks


def has_failed(criteria: Sequence[Criterion]) -> bool:
    """Whether any criterion failed."""
    return any(one.verdict is CriterionVerdict.FAIL for one in criteria)


def _format_share(share: Estimate) -> str:
    return f"{share.value:.1%} ({100 * share.low:.1f} - {100 * share.high:.1f})"


def _format_payoff(amount: Estimate | None) -> str:
    if amount is None:
        return EMPTY_CELL
    if math.isinf(amount.low):
        return f"{amount.value:.4g}"
    width = amount.high - amount.low
    digits = min(6, max(0, 1 - math.floor(math.log10(width)))) if width > 0 else 2
    return f"{amount.value:.{digits}f} ({amount.low:.{digits}f} to {amount.high:.{digits}f})"


def _format_p_value(value: float) -> str:
    return "<0.0001" if value < 0.0001 else f"{value:.4f}" if value < 0.1 else f"{value:.2f}"


def list_warnings(evaluation: Evaluation) -> Iterator[str]:
    """Yield the warnings of the steps with bad input."""
    done = evaluation.conformance
    yield from (f"Bad input, warning: {fault.where}: {fault.what}" for fault in done.warned[:MAX_SHOWN_FAULTS])


def games_text(number: int) -> str:
    return "1 game" if number == 1 else f"{number} games"


def end_sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
