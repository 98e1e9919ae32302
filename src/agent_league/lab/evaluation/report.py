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

from agent_league.check.reports import page
from agent_league.errors import UserError
from agent_league.lab.counts import estimate_as_dict
from agent_league.lab.evaluation.criteria import Criterion, Judgement, judge
from agent_league.lab.evaluation.findings import (
    HOW_TO_READ,
    Sheet,
    criteria_sheet,
    facts,
    failed,
    faults_sheet,
    remarks,
    results_sheet,
    sentence,
    times_sheet,
    warnings,
    who_they_are,
    with_stop,
)
from agent_league.lab.evaluation.model import Encounter, Ending, Evaluation
from agent_league.lab.evaluation.plots import outcomes_plot, progress_plot, times_plot
from agent_league.model.names import printable

LONGEST_NAME = 40
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]+")
MARKUP = re.compile(r"[\\`*_{}\[\]#|!~$@^]|:(?=//)|(?<=www)[.]", re.IGNORECASE)
PLOTS: dict[str, tuple[str, Callable[[Evaluation], str]]] = {
    "outcomes.svg": ("Results by opponent", outcomes_plot),
    "win-rate.svg": ("Share of games won, game by game", progress_plot),
    "response-times.svg": ("How long answers took", times_plot),
}
FILES = ("evaluation.md", "evaluation.html", "evaluation.json", *PLOTS)


def default_folder(evaluation: Evaluation, root: Path) -> Path:
    """Choose a new folder for a report, named after player and time."""
    name = NOT_IN_NAMES.sub("-", evaluation.player).strip("-")[:LONGEST_NAME] or "player"
    when = re.sub(r"[^0-9TZ]", "", evaluation.started)
    place = root / f"{name}-{when}"
    number = 1
    while place.exists():
        number += 1
        place = root / f"{name}-{when}-{number}"
    return place


def check_folder(folder: Path) -> None:
    """Raise UserError if the folder can't take a report: it isn't writable, or has one already."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder}: expected a folder, found a file")
    there = [name for name in FILES if (folder / name).exists()]
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
        "evaluation.md": as_markdown(evaluation),
        "evaluation.html": as_html(evaluation),
        "evaluation.json": as_json(evaluation),
        **plots,
    }
    for name, text in texts.items():
        with (folder / name).open("x", encoding="utf-8") as file:
            file.write(text)
    return [folder / name for name in FILES]


def as_markdown(evaluation: Evaluation) -> str:
    criteria = judge(evaluation)
    parts = [
        f"# Evaluation of {_md(evaluation.player)}",
        _md(sentence(evaluation)),
        _md_table(facts(evaluation)),
        "## Criteria",
        _md_table(criteria_sheet(criteria)),
        "## Results",
        _md_table(results_sheet(evaluation)),
        _md(who_they_are(evaluation)),
        _md(HOW_TO_READ),
        *(f"![{title}]({name})" for name, (title, _) in list(PLOTS.items())[:2]),
        "## Response times",
        _md_table(times_sheet(evaluation)),
        f"![{PLOTS['response-times.svg'][0]}](response-times.svg)",
    ]
    if evaluation.faults:
        parts += ["## Messages that are not valid", _md_table(faults_sheet(evaluation))]
    if told := [*remarks(evaluation), *warnings(evaluation)]:
        parts += ["## Remarks", "\n".join(f"- {_md(one)}" for one in told)]
    return "\n\n".join(parts) + "\n"


def _md_table(sheet: Sheet) -> str:
    lines = [sheet.head, ("---",) * len(sheet.head)]
    written = ["| " + " | ".join(map(_md, row)) + " |" for row in lines[:1]]
    written.append("| " + " | ".join(lines[1]) + " |")
    written += ["| " + " | ".join(map(_md, row)) + " |" for row in sheet.rows]
    return "\n".join(written)


def _md(text: str) -> str:
    """Escape text so that Markdown shows it literally: no markup, links, HTML or line breaks."""
    written = MARKUP.sub(r"\\\g<0>", printable(text))
    return written.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def as_html(evaluation: Evaluation) -> str:
    """Render the report as one self-contained page."""
    criteria = judge(evaluation)
    drawn = {name: f"<figure>{draw(evaluation)}</figure>" for name, (_, draw) in PLOTS.items()}
    told = "".join(f"<li>{_html(one)}</li>" for one in [*remarks(evaluation), *warnings(evaluation)])
    faults = (
        f"<h2>Messages that are not valid</h2>\n{_html_table(faults_sheet(evaluation))}" if evaluation.faults else ""
    )
    body = f"""<main>
<p class="soft">league evaluate</p>
<h1>{_html(evaluation.player)}</h1>
<p class="{"fail" if failed(criteria) else "pass"}">{_html(sentence(evaluation))}</p>
{_html_table(facts(evaluation), heading=False)}
<h2>Criteria</h2>
<ul class="criteria">{"".join(map(_criterion, criteria))}</ul>
<h2>Results</h2>
{_html_table(results_sheet(evaluation))}
<p class="soft">{_html(who_they_are(evaluation))}</p>
{drawn["outcomes.svg"]}
{drawn["win-rate.svg"]}
<p class="soft">{_html(HOW_TO_READ)}</p>
<h2>Response times</h2>
{_html_table(times_sheet(evaluation))}
{drawn["response-times.svg"]}
{faults}
{f"<h2>Remarks</h2><ul>{told}</ul>" if told else ""}
</main>
"""
    return page(f"Evaluation of {printable(evaluation.player)}", PAGE_STYLE, body)


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
LOOKS = {Judgement.PASS: "pass", Judgement.FAIL: "fail", Judgement.NOT_JUDGED: "open"}


def _criterion(one: Criterion) -> str:
    note = f'<span class="soft">{_html(one.note)}</span>' if one.note else ""
    return (
        f'<li><b class="{LOOKS[one.verdict]}">{one.verdict.value}</b>{_html(one.name)}'
        f"<span>{_html(with_stop(one.found))}</span>{note}</li>"
    )


def _html_table(sheet: Sheet, *, heading: bool = True) -> str:
    head = "".join(f"<th>{_html(name)}</th>" for name in sheet.head)
    rows = "".join(f"<tr>{''.join(f'<td>{_html(cell)}</td>' for cell in row)}</tr>" for row in sheet.rows)
    look = ' class="results"' if "Opponent" in sheet.head else ""
    top = f"<thead><tr>{head}</tr></thead>" if heading else ""
    return f'<div class="scroll"><table{look}>{top}<tbody>{rows}</tbody></table></div>'


def _html(text: str) -> str:
    return html.escape(printable(text))


def as_json(evaluation: Evaluation) -> str:
    """Render all numbers, also those of single games."""
    return orjson.dumps(content(evaluation), option=orjson.OPT_INDENT_2).decode() + "\n"


def content(evaluation: Evaluation) -> dict[str, Any]:
    """Return the evaluation as JSON data; missing numbers are null."""
    times = evaluation.times
    return {
        "player": evaluation.player,
        "where": evaluation.where,
        "protocol": evaluation.protocol,
        "game_type": evaluation.game_type,
        "parameters": dict(evaluation.parameters),
        "chances_against_random": asdict(evaluation.chances) if evaluation.chances else None,
        "seed": evaluation.seed,
        "games_wanted": evaluation.wanted,
        "started": evaluation.started,
        "seconds": round(evaluation.seconds, 3),
        "interrupted": evaluation.interrupted,
        "ok": not failed(judge(evaluation)),
        "criteria": [{**asdict(one), "verdict": one.verdict.value} for one in judge(evaluation)],
        "messages": {
            "count": evaluation.messages,
            "not_valid": evaluation.faulty,
            "faults": [{"count": count, "where": one.where, "what": one.what} for one, count in evaluation.faults],
        },
        "moves": asdict(evaluation.moves) if evaluation.moves else None,
        "timeouts": evaluation.timeouts,
        "response_seconds": asdict(times) if times else None,
        "opponents": [_series_content(evaluation, series) for series in evaluation.series],
        "conformance": asdict(evaluation.conformance),
        "remarks": list(remarks(evaluation)),
    }


def _series_content(evaluation: Evaluation, series: Encounter) -> dict[str, Any]:
    return {
        "opponent": series.opponent,
        "says": series.says,
        "games": len(series.games),
        "wins": series.wins,
        "draws": series.count(Ending.DRAW),
        "losses": series.count(Ending.LOSS),
        "technical_losses": series.technical,
        "walkovers": series.count(Ending.WALKOVER),
        "win_rate": asdict(series.score.win_rate) if series.counted else None,
        "p_value": series.p_value if series.opponent in evaluation.adjusted else None,
        "p_value_holm": evaluation.adjusted.get(series.opponent),
        "payoff": estimate_as_dict(series.score.mean_payoff) if series.score.mean_payoff else None,
        "cut_short": series.cut_short,
        "played": [asdict(game) for game in series.games],
    }
