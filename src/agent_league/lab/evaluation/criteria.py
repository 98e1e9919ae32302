"""The criteria that a player should fulfil before it competes, and their verdicts for one evaluation. Pure.

A criterion that the games can't decide is not judged, with a reason: too few games, or a game of luck.
"""

from dataclasses import dataclass
from enum import StrEnum

from agent_league.lab.evaluation.model import Chances, Ending, Evaluation, Moves, longest_run
from agent_league.lab.statistics import at_least

IN_A_ROW = 50
"""Games required without a timeout, and without a technical loss."""
ENOUGH_GAMES = 100
WINNING = 0.6
RANDOM = "random"


class Judgement(StrEnum):
    """The verdict on a criterion."""

    PASS = "PASS"  # noqa: S105 - a verdict, not a secret
    FAIL = "FAIL"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion with its verdict and the facts behind it."""

    name: str
    verdict: Judgement
    found: str
    note: str = ""


def judge(evaluation: Evaluation) -> tuple[Criterion, ...]:
    """Judge all criteria."""
    return (
        _valid_messages(evaluation),
        _no_timeouts(evaluation),
        _no_technical_losses(evaluation),
        _win_rate(evaluation),
        _graceful(evaluation),
        *([_own_moves(evaluation.moves)] if evaluation.moves else []),
    )


def _valid_messages(evaluation: Evaluation) -> Criterion:
    name = "Every message is valid"
    messages, faulty = evaluation.messages, evaluation.faulty
    if not messages:
        return Criterion(name, Judgement.FAIL, "no message came at all")
    found = f"{messages - faulty} of {messages} messages are in the protocol's own form"
    return Criterion(name, Judgement.FAIL if faulty else Judgement.PASS, f"{found} ({_percent(1 - faulty / messages)})")


def _no_timeouts(evaluation: Evaluation) -> Criterion:
    games = evaluation.games
    run = longest_run(game.timeouts == 0 for game in games)
    found = f"{evaluation.timeouts} timeouts in {len(games)} games; the longest run without one: {run}"
    return _in_a_row(f"No timeouts in {IN_A_ROW} consecutive games", evaluation, evaluation.timeouts, found)


def _no_technical_losses(evaluation: Evaluation) -> Criterion:
    games = evaluation.games
    lost = sum(game.ending is Ending.TECHNICAL_LOSS for game in games)
    run = longest_run(game.ending is not Ending.TECHNICAL_LOSS for game in games)
    found = f"{lost} technical losses in {len(games)} games; the longest run without one: {run}"
    return _in_a_row(f"No technical loss in {IN_A_ROW} consecutive games", evaluation, lost, found)


def _in_a_row(name: str, evaluation: Evaluation, failures: int, found: str) -> Criterion:
    """Judge a run without failures. A single failure anywhere fails it, even beside a long enough run."""
    if failures:
        return Criterion(name, Judgement.FAIL, found)
    if len(evaluation.games) >= IN_A_ROW:
        return Criterion(name, Judgement.PASS, found)
    return Criterion(name, Judgement.NOT_JUDGED, found, f"{IN_A_ROW} games in all are needed; --games asks for more.")


def _win_rate(evaluation: Evaluation) -> Criterion:
    name = f"Wins more than {WINNING:.0%} against random, over at least {ENOUGH_GAMES} games"
    series = evaluation.against(RANDOM)
    games = len(series.counted) if series else 0
    if series is None or not games:
        return Criterion(name, Judgement.NOT_JUDGED, "no game against random was played")
    won = series.score.win_rate
    found = (
        f"{series.wins} of {games} games won: {_percent(won.value)}, "
        f"95% interval {_percent(won.low)} to {_percent(won.high)}"
    )
    if note := _out_of_reach(evaluation.title, evaluation.chances, games):
        return Criterion(name, Judgement.NOT_JUDGED, found, note)
    if evaluation.has_amounts:
        note = "In this game it counts how much a player has, not who has more: look at the mean payoffs."
        return Criterion(name, Judgement.NOT_JUDGED, found, note)
    if games < ENOUGH_GAMES:
        note = f"{ENOUGH_GAMES} games are needed, and {games} were played."
        return Criterion(name, Judgement.NOT_JUDGED, found, note)
    note = f"The interval includes {WINNING:.0%}: play more games to be sure." if won.low <= WINNING <= won.high else ""
    return Criterion(name, Judgement.PASS if won.value > WINNING else Judgement.FAIL, found, note)


def _out_of_reach(title: str, chances: Chances | None, games: int) -> str:
    """Explain why no skill can reach the required win rate; empty if it can be reached."""
    if chances is None or not (chances.alike or (chances.single and chances.most <= WINNING)):
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
        f"{_tiny(at_least(needed, games, chances.most))}."
    )


def _own_moves(moves: Moves) -> Criterion:
    found = f"the strategy failed in {moves.failed} of {moves.asked} moves"
    if moves.failed:
        found += f", and a random one was played; first: {moves.first_failure}"
    return Criterion("Every move is the strategy's own", Judgement.FAIL if moves.failed else Judgement.PASS, found)


def _graceful(evaluation: Evaluation) -> Criterion:
    name = "Handles errors gracefully"
    done = evaluation.conformance
    if done.unjudged:
        return Criterion(name, Judgement.NOT_JUDGED, done.unjudged)
    found = (
        f"{done.passed} of the steps with bad input passed, {len(done.warned)} with a warning, "
        f"{len(done.failed)} failed, {done.skipped} skipped"
    )
    return Criterion(name, Judgement.FAIL if done.failed else Judgement.PASS, found)


def _percent(share: float) -> str:
    """Format with one decimal; less than everything is never shown as 100.0%."""
    shown = f"{share:.1%}"
    return "99.9%" if shown == "100.0%" and share < 1 else shown


def _tiny(probability: float) -> str:
    return f"{probability:.1e}" if probability < 0.001 else f"{probability:.3f}"
