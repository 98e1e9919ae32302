"""The files of an evaluation's report: Markdown, one self-contained HTML page, JSON with all numbers, and plots.

A player's own words are a stranger's text: made printable, shortened, and escaped wherever they stand.
"""

import html
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import orjson

from agent_league.check.reports import render_page
from agent_league.errors import UserError
from agent_league.lab.counts import estimate_to_json
from agent_league.lab.evaluation.criteria import Criterion, CriterionVerdict, judge_criteria
from agent_league.lab.evaluation.findings import (
    HOW_TO_READ,
    ReportTable,
    criteria_table,
    describe_opponents,
    end_sentence,
    facts_table,
    faults_table,
    has_failed,
    list_remarks,
    list_warnings,
    results_table,
    summary_sentence,
    times_table,
)
from agent_league.lab.evaluation.model import Evaluation, GameEnding, OpponentSeries
from agent_league.lab.evaluation.plots import draw_outcomes, draw_progress, draw_times
from agent_league.text import to_printable

MAX_NAME_LENGTH = 40
UNSAFE_IN_NAMES = re.compile(r"[^A-Za-z0-9]+")
MARKDOWN_MARKUP = re.compile(r"[\\`*_{}\[\]#|!~$@^]|:(?=//)|(?<=www)[.]", re.IGNORECASE)
PLOTS: dict[str, tuple[str, Callable[[Evaluation], str]]] = {
    "outcomes.svg": ("Results by opponent", draw_outcomes),
    "win-rate.svg": ("Share of games won, game by game", draw_progress),
    "response-times.svg": ("How long answers took", draw_times),
}
REPORT_FILES = ("evaluation.md", "evaluation.html", "evaluation.json", *PLOTS)


def choose_report_folder(evaluation: Evaluation, root: Path) -> Path:
    """Choose a new folder for a report, named after player and time."""
    name = UNSAFE_IN_NAMES.sub("-", evaluation.player).strip("-")[:MAX_NAME_LENGTH] or "player"
    when = re.sub(r"[^0-9TZ]", "", evaluation.started_at)
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
    there = [name for name in REPORT_FILES if (folder / name).exists()]
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
    plots = {name: draw(evaluation) for name, (_, draw) in PLOTS.items()}
    texts = {
        "evaluation.md": render_markdown(evaluation),
        "evaluation.html": render_html(evaluation),
        "evaluation.json": render_json(evaluation),
        **plots,
    }
    for name, text in texts.items():
        with (folder / name).open("x", encoding="utf-8") as file:
            file.write(text)
    return [folder / name for name in REPORT_FILES]


def render_markdown(evaluation: Evaluation) -> str:
    criteria = judge_criteria(evaluation)
    parts = [
        f"# Evaluation of {_escape_markdown(evaluation.player)}",
        _escape_markdown(summary_sentence(evaluation)),
        _render_markdown_table(facts_table(evaluation)),
        "## Criteria",
        _render_markdown_table(criteria_table(criteria)),
        "## Results",
        _render_markdown_table(results_table(evaluation)),
        _escape_markdown(describe_opponents(evaluation)),
        _escape_markdown(HOW_TO_READ),
        *(f"![{title}]({name})" for name, (title, _) in list(PLOTS.items())[:2]),
        "## Response times",
        _render_markdown_table(times_table(evaluation)),
        f"![{PLOTS['response-times.svg'][0]}](response-times.svg)",
    ]
    if evaluation.faults_by_frequency:
        parts += ["## Messages that are not valid", _render_markdown_table(faults_table(evaluation))]
    if told := [*list_remarks(evaluation), *list_warnings(evaluation)]:
        parts += ["## Remarks", "\n".join(f"- {_escape_markdown(one)}" for one in told)]
    return "\n\n".join(parts) + "\n"


def _render_markdown_table(sheet: ReportTable) -> str:
    lines = [sheet.headings, ("---",) * len(sheet.headings)]
    written = ["| " + " | ".join(map(_escape_markdown, row)) + " |" for row in lines[:1]]
    written.append("| " + " | ".join(lines[1]) + " |")
    written += ["| " + " | ".join(map(_escape_markdown, row)) + " |" for row in sheet.rows]
    return "\n".join(written)


def _escape_markdown(text: str) -> str:
    """Escape text so that Markdown shows it literally: no markup, links, HTML or line breaks."""
    written = MARKDOWN_MARKUP.sub(r"\\\g<0>", to_printable(text))
    return written.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def render_html(evaluation: Evaluation) -> str:
    """Render the report as one self-contained page."""
    criteria = judge_criteria(evaluation)
    drawn = {name: f"<figure>{draw(evaluation)}</figure>" for name, (_, draw) in PLOTS.items()}
    told = "".join(f"<li>{_escape_html(one)}</li>" for one in [*list_remarks(evaluation), *list_warnings(evaluation)])
    faults = (
        f"<h2>Messages that are not valid</h2>\n{_render_html_table(faults_table(evaluation))}"
        if evaluation.faults_by_frequency
        else ""
    )
    body = f"""<main>
<p class="soft">league evaluate</p>
<h1>{_escape_html(evaluation.player)}</h1>
<p class="{"fail" if has_failed(criteria) else "pass"}">{_escape_html(summary_sentence(evaluation))}</p>
{_render_html_table(facts_table(evaluation), heading=False)}
<h2>Criteria</h2>
<ul class="criteria">{"".join(map(_render_criterion, criteria))}</ul>
<h2>Results</h2>
{_render_html_table(results_table(evaluation))}
<p class="soft">{_escape_html(describe_opponents(evaluation))}</p>
{drawn["outcomes.svg"]}
{drawn["win-rate.svg"]}
<p class="soft">{_escape_html(HOW_TO_READ)}</p>
<h2>Response times</h2>
{_render_html_table(times_table(evaluation))}
{drawn["response-times.svg"]}
{faults}
{f"<h2>Remarks</h2><ul>{told}</ul>" if told else ""}
</main>
"""
    return render_page(f"Evaluation of {to_printable(evaluation.player)}", PAGE_STYLE, body)


PAGE_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --paper: #fff; --line: #d5dae1; --soft: #5d6775; --pass: #17713c;
  --fail: #b3261e; --open: #7a5600; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --paper: #14181d; --line: #38414c; --soft: #a3adb8;
  --pass: #6fcf97; --fail: #ff8a80; --open: #e5b454; } }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--paper); font: 1rem/1.55 system-ui, sans-serif;
  overflow-wrap: anywhere; }
main { max-width: 58rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; }
p { margin: .4rem 0; } .soft { color: var(--soft); font-size: .9rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .93rem; }
th, td { padding: .35rem .6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th, td:first-child, .results td { white-space: nowrap; } th { font-weight: 600; }
td { font-variant-numeric: tabular-nums; }
figure { margin: 1.2rem 0; } figure svg { max-width: 100%; height: auto; display: block; }
.criteria { list-style: none; padding: 0; } .criteria li { padding: .6rem 0; border-bottom: 1px solid var(--line); }
.criteria b { margin-right: .6rem; } .criteria span { display: block; } .pass, .fail, .open { font-weight: 600; }
.pass { color: var(--pass); } .fail { color: var(--fail); } .open { color: var(--open); }
"""
VERDICT_CLASSES = {CriterionVerdict.PASS: "pass", CriterionVerdict.FAIL: "fail", CriterionVerdict.NOT_JUDGED: "open"}


def _render_criterion(one: Criterion) -> str:
    note = f'<span class="soft">{_escape_html(one.note)}</span>' if one.note else ""
    return (
        f'<li><b class="{VERDICT_CLASSES[one.verdict]}">{one.verdict.value}</b>{_escape_html(one.name)}'
        f"<span>{_escape_html(end_sentence(one.found))}</span>{note}</li>"
    )


def _render_html_table(sheet: ReportTable, *, heading: bool = True) -> str:
    head = "".join(f"<th>{_escape_html(name)}</th>" for name in sheet.headings)
    rows = "".join(f"<tr>{''.join(f'<td>{_escape_html(cell)}</td>' for cell in row)}</tr>" for row in sheet.rows)
    look = ' class="results"' if "Opponent" in sheet.headings else ""
    top = f"<thead><tr>{head}</tr></thead>" if heading else ""
    return f'<div class="scroll"><table{look}>{top}<tbody>{rows}</tbody></table></div>'


def _escape_html(text: str) -> str:
    return html.escape(to_printable(text))


def render_json(evaluation: Evaluation) -> str:
    """Render all numbers, also those of single games."""
    return orjson.dumps(evaluation_to_json(evaluation), option=orjson.OPT_INDENT_2).decode() + "\n"


def evaluation_to_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return the evaluation as JSON data; missing numbers are null."""
    times = evaluation.response_times
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
        "ok": not has_failed(judge_criteria(evaluation)),
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
        "conformance": asdict(evaluation.conformance),
        "remarks": list(list_remarks(evaluation)),
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
