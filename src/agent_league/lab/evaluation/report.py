"""The files of an evaluation's report: Markdown, one self-contained HTML page, JSON with all numbers, and charts.

A player's own words are a stranger's text: made printable, shortened, and escaped wherever they stand.
"""

import re
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import orjson

from agent_league.errors import UserError
from agent_league.lab.charts import draw_outcomes, draw_progress, draw_times
from agent_league.lab.evaluation import findings
from agent_league.lab.evaluation.criteria import CriterionVerdict, judge_criteria
from agent_league.lab.evaluation.model import Evaluation, GameEnding, OpponentSeries
from agent_league.lab.experiment.folder import OWN_NAMES
from agent_league.lab.report_templates import make_environment
from agent_league.lab.scoreboard import estimate_to_json

MAX_NAME_LENGTH = 40
UNSAFE_IN_NAMES = re.compile(r"[^A-Za-z0-9]+")
CHARTS = {"outcomes.svg": draw_outcomes, "win-rate.svg": draw_progress, "response-times.svg": draw_times}
REPORT_FILES = ("evaluation.md", "evaluation.html", "evaluation.json", *CHARTS)
VERDICT_CLASSES = {CriterionVerdict.PASS: "pass", CriterionVerdict.FAIL: "fail", CriterionVerdict.NOT_JUDGED: "open"}


def choose_report_folder(player: str, started_at: str, root: Path) -> Path:
    """Choose a new folder for a report, named after player and time."""
    name = UNSAFE_IN_NAMES.sub("-", player).strip("-")[:MAX_NAME_LENGTH] or "player"
    when = re.sub(r"[^0-9TZ]", "", started_at)
    place = root / f"{name}-{when}"
    number = 1
    while place.exists():
        number += 1
        place = root / f"{name}-{when}-{number}"
    return place


def check_report_folder(folder: Path) -> None:
    """Raise UserError if the folder can't take a report: it isn't writable, or has one already."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder}: expected a folder, found a file")
    there = [name for name in (*REPORT_FILES, *OWN_NAMES) if (folder / name).exists()]
    if there:
        raise UserError(f"{folder}: {', '.join(there)} is there already; name another folder")
    place = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    try:
        TemporaryFile(dir=place).close()
    except OSError as error:
        raise UserError(f"{folder}: nothing can be written there: {error.strerror}") from None


def write_report(evaluation: Evaluation, folder: Path) -> list[Path]:
    """Write all files of a report; creates the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "evaluation.md": render_markdown(evaluation),
        "evaluation.html": render_html(evaluation),
        "evaluation.json": render_json(evaluation),
        **{name: draw(evaluation) for name, draw in CHARTS.items()},
    }
    for name, text in texts.items():
        with (folder / name).open("x", encoding="utf-8") as file:
            file.write(text)
    return [folder / name for name in REPORT_FILES]


def render_markdown(evaluation: Evaluation) -> str:
    """Render the report as Markdown, which refers to the charts beside it."""
    return _render("evaluation.md", evaluation)


def render_html(evaluation: Evaluation) -> str:
    """Render the report as one self-contained page, which loads nothing and runs no scripts."""
    return _render("evaluation.html", evaluation)


def _render(template: str, evaluation: Evaluation) -> str:
    environment = make_environment()
    environment.filters["end_sentence"] = findings.end_sentence
    criteria = judge_criteria(evaluation)
    ratings = findings.find_ratings(evaluation)
    return environment.get_template(template).render(
        evaluation=evaluation,
        summary=findings.summary_sentence(evaluation),
        criteria=criteria,
        has_failed=findings.has_failed(criteria),
        verdict_classes=VERDICT_CLASSES,
        facts=findings.facts_table(evaluation),
        verdicts=findings.criteria_table(criteria),
        results=findings.results_table(evaluation),
        opponents=findings.describe_opponents(evaluation),
        ratings=ratings.tabulate() if ratings else None,
        rating_sentences=list(ratings.describe()) if ratings else [],
        how_to_read=findings.HOW_TO_READ,
        times=findings.times_table(evaluation),
        faults=findings.faults_table(evaluation),
        remarks=[*findings.list_remarks(evaluation), *findings.list_warnings(evaluation)],
        charts={name: draw(evaluation) for name, draw in CHARTS.items()},
    )


def render_json(evaluation: Evaluation) -> str:
    """Render all numbers, also those of single games."""
    return orjson.dumps(evaluation_to_json(evaluation), option=orjson.OPT_INDENT_2).decode() + "\n"


def evaluation_to_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return the evaluation as JSON data; missing numbers are null."""
    times, ratings = evaluation.response_times, findings.find_ratings(evaluation)
    return {
        "player": evaluation.player,
        "where": evaluation.location,
        "protocol": evaluation.protocol,
        "game_type": evaluation.game_type,
        "parameters": dict(evaluation.parameters),
        "chances_against_random": asdict(evaluation.chances) if evaluation.chances else None,
        "seed": evaluation.seed,
        "games_wanted": evaluation.games_wanted,
        "started": evaluation.started_at,
        "seconds": round(evaluation.seconds, 3),
        "interrupted": evaluation.interrupted,
        "ok": not findings.has_failed(judge_criteria(evaluation)),
        "criteria": [{**asdict(one), "verdict": one.verdict.value} for one in judge_criteria(evaluation)],
        "messages": {
            "count": evaluation.message_count,
            "not_valid": evaluation.fault_count,
            "faults": [
                {"count": count, "where": one.where, "what": one.what} for one, count in evaluation.faults_by_frequency
            ],
        },
        "moves": asdict(evaluation.moves) if evaluation.moves else None,
        "timeouts": evaluation.timeout_count,
        "response_seconds": asdict(times) if times else None,
        "opponents": [_series_to_json(evaluation, series) for series in evaluation.series],
        "ratings": ratings.to_json() if ratings else None,
        "conformance": asdict(evaluation.conformance),
        "remarks": list(findings.list_remarks(evaluation)),
    }


def _series_to_json(evaluation: Evaluation, series: OpponentSeries) -> dict[str, Any]:
    return {
        "opponent": series.opponent,
        "says": series.description,
        "games": len(series.games),
        "wins": series.wins,
        "draws": series.count_ending(GameEnding.DRAW),
        "losses": series.count_ending(GameEnding.LOSS),
        "technical_losses": series.technical_losses,
        "walkovers": series.count_ending(GameEnding.WALKOVER),
        "win_rate": asdict(series.score.win_rate) if series.valid_games else None,
        "p_value": series.p_value if series.opponent in evaluation.adjusted_p_values else None,
        "p_value_holm": evaluation.adjusted_p_values.get(series.opponent),
        "payoff": estimate_to_json(series.score.mean_payoff) if series.score.mean_payoff else None,
        "cut_short": series.cut_short_reason,
        "played": [asdict(game) for game in series.games],
    }
