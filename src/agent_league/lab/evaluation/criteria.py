"""What is asked of a player before it may compete, and whether this one fulfils it. Pure.

A criterion that the games can't decide is not judged, and says why: too few games, or a game of luck.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import exp, fsum, lgamma, log

from agent_league.lab.evaluation.model import Ending, Evaluation, longest_run

IN_A_ROW = 50
"""Games in a row without a timeout, without a technical loss."""
ENOUGH_GAMES = 100
WINNING = 0.6
RANDOM = "random"


class Verdict(StrEnum):
    """What is to be said of a criterion."""

    PASS = "PASS"  # noqa: S105 - a verdict, not a secret
    FAIL = "FAIL"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True, slots=True)
class Criterion:
    """One demand, and what was found."""

    name: str
    verdict: Verdict
    found: str
    note: str = ""


def judge(evaluation: Evaluation) -> tuple[Criterion, ...]:
    """All criteria."""
    return (
        _valid_messages(evaluation),
        _no_timeouts(evaluation),
        _no_technical_losses(evaluation),
        _win_rate(evaluation),
        _graceful(evaluation),
    )


def _valid_messages(evaluation: Evaluation) -> Criterion:
    name = "Every message is valid"
    messages, faulty = evaluation.messages, evaluation.faulty
    if not messages:
        return Criterion(name, Verdict.FAIL, "no message came at all")
    found = f"{messages - faulty} of {messages} messages are in the protocol's own form"
    return Criterion(name, Verdict.FAIL if faulty else Verdict.PASS, f"{found} ({_percent(1 - faulty / messages)})")


def _no_timeouts(evaluation: Evaluation) -> Criterion:
    games = evaluation.games
    run = longest_run(game.timeouts == 0 for game in games)
    found = f"{evaluation.timeouts} timeouts in {len(games)} games; the longest run without one: {run}"
    return _in_a_row(f"No timeouts in {IN_A_ROW} consecutive games", run, bool(evaluation.timeouts), found)


def _no_technical_losses(evaluation: Evaluation) -> Criterion:
    games = evaluation.games
    lost = sum(game.ending is Ending.TECHNICAL_LOSS for game in games)
    run = longest_run(game.ending is not Ending.TECHNICAL_LOSS for game in games)
    found = f"{lost} technical losses in {len(games)} games; the longest run without one: {run}"
    return _in_a_row(f"No technical loss in {IN_A_ROW} consecutive games", run, bool(lost), found)


def _in_a_row(name: str, run: int, failed: bool, found: str) -> Criterion:
    if run >= IN_A_ROW:
        return Criterion(name, Verdict.PASS, found)
    if failed:
        return Criterion(name, Verdict.FAIL, found)
    return Criterion(name, Verdict.NOT_JUDGED, found, f"{IN_A_ROW} games in all are needed; --games asks for more.")


def _win_rate(evaluation: Evaluation) -> Criterion:
    name = f"Wins more than {WINNING:.0%} against random, over at least {ENOUGH_GAMES} games"
    series = evaluation.against(RANDOM)
    games = len(series.counted) if series else 0
    if series is None or not games:
        return Criterion(name, Verdict.NOT_JUDGED, "no game against random was played")
    won = series.win_rate
    found = (
        f"{series.wins} of {games} games won: {_percent(won.value)}, "
        f"95% interval {_percent(won.low)} to {_percent(won.high)}"
    )
    if evaluation.luck is not None:
        return Criterion(name, Verdict.NOT_JUDGED, found, _luck(evaluation, games, evaluation.luck))
    if evaluation.has_amounts:
        note = "In this game it counts how much a player has, not who has more: look at the mean payoffs."
        return Criterion(name, Verdict.NOT_JUDGED, found, note)
    if games < ENOUGH_GAMES:
        note = f"{ENOUGH_GAMES} games are needed, and {games} were played."
        return Criterion(name, Verdict.NOT_JUDGED, found, note)
    return Criterion(name, Verdict.PASS if won.value > WINNING else Verdict.FAIL, found)


def _luck(evaluation: Evaluation, games: int, chance: float) -> str:
    sentence = (
        f"No skill can reach this mark in {evaluation.title}: against a player that chooses at random, every choice "
        "wins as often as any other. "
    )
    parameters = evaluation.parameters
    if parameters.get("repeat", 1) != 1 or parameters.get("first_to") is not None:
        return sentence + "A match of several such games changes nothing about that."
    needed = games * 3 // 5 + 1
    return (
        f"{sentence}Chance wins {_percent(chance)} of the games; to win {needed} of {games} has a probability of "
        f"{_tiny(at_least(needed, games, chance))}."
    )


def _graceful(evaluation: Evaluation) -> Criterion:
    name = "Handles errors gracefully"
    done = evaluation.conformance
    if done.unjudged:
        return Criterion(name, Verdict.NOT_JUDGED, done.unjudged)
    found = (
        f"{done.passed} of the steps with bad input passed, {len(done.warned)} with a warning, "
        f"{len(done.failed)} failed, {done.skipped} skipped"
    )
    return Criterion(name, Verdict.FAIL if done.failed else Verdict.PASS, found)


def at_least(successes: int, trials: int, chance: float) -> float:
    """How likely so many or more come about by chance."""

    def likelihood(count: int) -> float:
        ways = lgamma(trials + 1) - lgamma(count + 1) - lgamma(trials - count + 1)
        return exp(ways + count * log(chance) + (trials - count) * log(1 - chance))

    return min(1.0, fsum(likelihood(count) for count in range(max(successes, 0), trials + 1)))


def _percent(share: float) -> str:
    """With a digit after the point; what isn't quite everything is not shown as such."""
    shown = f"{share:.1%}"
    return "99.9%" if shown == "100.0%" and share < 1 else shown


def _tiny(probability: float) -> str:
    return f"{probability:.1e}" if probability < 0.001 else f"{probability:.3f}"
