"""The criteria that a player should fulfil before it competes, and their verdicts for one evaluation. Pure.

A criterion that the games can't decide is not judged, with a reason: too few games, or a game of luck.
"""

from dataclasses import dataclass
from enum import StrEnum

from agent_league.lab.evaluation.model import Evaluation, GameEnding, MoveCounts, WinChances, longest_run
from agent_league.ratings.statistics import binomial_tail

REQUIRED_RUN = 50
"""Games required without a timeout, and without a technical loss."""
REQUIRED_GAMES = 100
REQUIRED_WIN_RATE = 0.6
RANDOM_OPPONENT = "random"


class CriterionVerdict(StrEnum):
    """The verdict on a criterion."""

    PASS = "PASS"  # noqa: S105 - a verdict, not a secret
    FAIL = "FAIL"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion with its verdict and the facts behind it."""

    name: str
    verdict: CriterionVerdict
    found: str
    note: str = ""


def judge_criteria(evaluation: Evaluation) -> tuple[Criterion, ...]:
    """Judge all criteria."""
    return (
        _judge_messages(evaluation),
        _judge_timeouts(evaluation),
        _judge_technical_losses(evaluation),
        _judge_win_rate(evaluation),
        _judge_error_handling(evaluation),
        *([_judge_own_moves(evaluation.moves)] if evaluation.moves else []),
    )


def _judge_messages(evaluation: Evaluation) -> Criterion:
    name = "Every message is valid"
    messages, faulty = evaluation.message_count, evaluation.fault_count
    if not messages:
        return Criterion(name, CriterionVerdict.FAIL, "no message came at all")
    found = f"{messages - faulty} of {messages} messages are in the protocol's own form"
    return Criterion(
        name, CriterionVerdict.FAIL if faulty else CriterionVerdict.PASS, f"{found} ({_percent(1 - faulty / messages)})"
    )


def _judge_timeouts(evaluation: Evaluation) -> Criterion:
    games = evaluation.games
    run = longest_run(game.timeouts == 0 for game in games)
    found = f"{evaluation.timeout_count} timeouts in {len(games)} games; the longest run without one: {run}"
    return _judge_run(f"No timeouts in {REQUIRED_RUN} consecutive games", evaluation, evaluation.timeout_count, found)


def _judge_technical_losses(evaluation: Evaluation) -> Criterion:
    games = evaluation.games
    lost = sum(game.ending is GameEnding.TECHNICAL_LOSS for game in games)
    run = longest_run(game.ending is not GameEnding.TECHNICAL_LOSS for game in games)
    found = f"{lost} technical losses in {len(games)} games; the longest run without one: {run}"
    return _judge_run(f"No technical loss in {REQUIRED_RUN} consecutive games", evaluation, lost, found)


def _judge_run(name: str, evaluation: Evaluation, failures: int, found: str) -> Criterion:
    """Judge a run without failures. A single failure anywhere fails it, even beside a long enough run."""
    if failures:
        return Criterion(name, CriterionVerdict.FAIL, found)
    if len(evaluation.games) >= REQUIRED_RUN:
        return Criterion(name, CriterionVerdict.PASS, found)
    return Criterion(
        name, CriterionVerdict.NOT_JUDGED, found, f"{REQUIRED_RUN} games in all are needed; --games asks for more."
    )


def _judge_win_rate(evaluation: Evaluation) -> Criterion:
    name = f"Wins more than {REQUIRED_WIN_RATE:.0%} against random, over at least {REQUIRED_GAMES} games"
    series = evaluation.find_series(RANDOM_OPPONENT)
    games = len(series.valid_games) if series else 0
    if series is None or not games:
        return Criterion(name, CriterionVerdict.NOT_JUDGED, "no game against random was played")
    won = series.score.win_rate
    found = (
        f"{series.wins} of {games} games won: {_percent(won.value)}, "
        f"95% interval {_percent(won.low)} to {_percent(won.high)}"
    )
    if note := _explain_unreachable(evaluation.title, evaluation.chances, games):
        return Criterion(name, CriterionVerdict.NOT_JUDGED, found, note)
    if evaluation.has_amounts:
        note = "In this game it counts how much a player has, not who has more: look at the mean payoffs."
        return Criterion(name, CriterionVerdict.NOT_JUDGED, found, note)
    if games < REQUIRED_GAMES:
        note = f"{REQUIRED_GAMES} games are needed, and {games} were played."
        return Criterion(name, CriterionVerdict.NOT_JUDGED, found, note)
    note = (
        f"The interval includes {REQUIRED_WIN_RATE:.0%}: play more games to be sure."
        if won.low <= REQUIRED_WIN_RATE <= won.high
        else ""
    )
    return Criterion(
        name, CriterionVerdict.PASS if won.value > REQUIRED_WIN_RATE else CriterionVerdict.FAIL, found, note
    )


def _explain_unreachable(title: str, chances: WinChances | None, games: int) -> str:
    """Explain why no skill can reach the required win rate; empty if it can be reached."""
    if chances is None or not (chances.alike or (chances.single and chances.most <= REQUIRED_WIN_RATE)):
        return ""
    sentence = f"No skill can reach this mark in {title}: against a player that chooses at random, "
    if not chances.alike:
        return f"{sentence}the most that can be reached is {_percent(chances.most)}."
    sentence += "every choice wins as often as any other. "
    if not chances.single:
        return sentence + "A match of several such games changes nothing about that."
    needed = games * 3 // 5 + 1
    return (
        f"{sentence}Chance wins {_percent(chances.most)} of the games; to win {needed} of {games} has a probability of "
        f"{_format_probability(binomial_tail(needed, games, chances.most))}."
    )


def _judge_own_moves(moves: MoveCounts) -> Criterion:
    found = f"the strategy failed in {moves.failed} of {moves.asked} moves"
    if moves.failed:
        found += f", and another one was played; first: {moves.first_failure}"
    return Criterion(
        "Every move is the strategy's own", CriterionVerdict.FAIL if moves.failed else CriterionVerdict.PASS, found
    )


def _judge_error_handling(evaluation: Evaluation) -> Criterion:
    name = "Handles errors gracefully"
    done = evaluation.conformance
    if done.unjudged:
        return Criterion(name, CriterionVerdict.NOT_JUDGED, done.unjudged)
    found = (
        f"{done.passed} of the steps with bad input passed, {len(done.warned)} with a warning, "
        f"{len(done.failed)} failed, {done.skipped} skipped"
    )
    return Criterion(name, CriterionVerdict.FAIL if done.failed else CriterionVerdict.PASS, found)


def _percent(share: float) -> str:
    """Format with one decimal; less than everything is never shown as 100.0%."""
    shown = f"{share:.1%}"
    return "99.9%" if shown == "100.0%" and share < 1 else shown


def _format_probability(probability: float) -> str:
    return f"{probability:.1e}" if probability < 0.001 else f"{probability:.3f}"
