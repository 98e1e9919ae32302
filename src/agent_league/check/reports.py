"""Write a report in four forms: lines for a terminal, JSON, JUnit XML, and one HTML page.

What an agent sent is untrusted text: made printable for the terminal, escaped in the other forms.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from agent_league.check.steps import CheckReport, StepOutcome, StepVerdict
from agent_league.text import to_printable
from agent_league.web.rendering import mark_code
from agent_league.web.report_style import load_report_style, make_report_loader

if TYPE_CHECKING:
    from jinja2 import Template

MARKS = {StepVerdict.PASS: "ok  ", StepVerdict.WARNING: "WARN", StepVerdict.FAIL: "FAIL", StepVerdict.SKIPPED: "skip"}
DETAIL_TITLES = {"hint": "how to mend it", "sent": "sent", "expected": "expected", "came": "came"}
MAX_LISTED_SKIPS = 2
"""Up to this many steps skipped for one reason get a line each."""
MAX_ANSWER_LINES = 3
"""Lines of an answer that the terminal shows."""
VISIBLE_LINES = 20
"""After this many lines a failure has scrolled out of sight."""
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class TerminalReport:
    """Formats outcomes for a terminal as they come: counts steps skipped for one reason, shows each hint once."""

    def __init__(self, *, in_full: bool = False) -> None:
        self._in_full = in_full
        self._skipped: list[StepOutcome] = []
        self._hints: dict[str, int] = {}
        """Hint -> number of the step that showed it."""

    def format_outcome(self, outcome: StepOutcome) -> Iterator[str]:
        """Yield the lines for this outcome, after those for skipped steps held back before it."""
        is_skipped = outcome.verdict is StepVerdict.SKIPPED and not self._in_full
        if outcome.number == 1:
            self._hints.clear()
        if not is_skipped or any(one.came != outcome.came for one in self._skipped):
            yield from self.flush_skipped()
        if is_skipped:
            self._skipped.append(outcome)
            return
        yield from format_outcome_lines(self.shorten_repeated_hint(outcome), in_full=self._in_full)

    def flush_skipped(self) -> Iterator[str]:
        """Yield the lines for the skipped steps that were held back."""
        skipped, self._skipped = self._skipped, []
        if len(skipped) > MAX_LISTED_SKIPS:
            yield to_printable(f"    {len(skipped)} more steps were skipped: {skipped[0].came}")
        else:
            for outcome in skipped:
                yield from format_outcome_lines(outcome)

    def shorten_repeated_hint(self, outcome: StepOutcome) -> StepOutcome:
        given = self._hints.setdefault(outcome.hint, outcome.number)
        repeated = outcome.hint and given != outcome.number
        return replace(outcome, hint=f"as at step {given}") if repeated else outcome


def format_failures(report: CheckReport) -> list[str]:
    """List the failed steps with their hints, if the first of them has scrolled out of sight; else nothing."""
    faults = [outcome for outcome in report.outcomes if outcome.verdict is StepVerdict.FAIL]
    screen = TerminalReport()
    after = report.outcomes[faults[0].number :] if faults else ()
    if sum(len(list(screen.format_outcome(outcome))) for outcome in after) <= VISIBLE_LINES:
        return []
    by_hint: dict[str, list[StepOutcome]] = {}
    for one in faults:
        by_hint.setdefault(one.hint, []).append(one)
    return ["What failed:", *(f"{_format_step_names(same)}: {hint}" for hint, same in by_hint.items()), ""]


def _format_step_names(steps: Sequence[StepOutcome]) -> str:
    first, *others = steps
    more = f" (and {', '.join(str(one.number) for one in others)})" if others else ""
    return f"{first.number:3} {first.name}{more}"


def format_outcome_lines(outcome: StepOutcome, *, in_full: bool = False) -> Iterator[str]:
    """Yield a line for a step; for warnings and failures also its details."""
    reason = f" ({outcome.came})" if outcome.verdict is StepVerdict.SKIPPED else ""
    yield to_printable(f"{outcome.number:3} {MARKS[outcome.verdict]} {outcome.name}{reason}")
    if in_full or outcome.verdict in (StepVerdict.WARNING, StepVerdict.FAIL):
        for name, value in _list_details(outcome):
            lines = value.split("\n")
            if name == "sent" and len(lines) > 1 and not in_full:
                lines = [lines[0], f"and {len(lines) - 1} other{'s' if len(lines) > 2 else ''}"]
            if name == "came" and len(lines) > MAX_ANSWER_LINES and not in_full:
                lines = [*lines[:MAX_ANSWER_LINES], "..."]
            for number, line in enumerate(lines):
                yield to_printable(f"         {DETAIL_TITLES[name] + ':' if not number else '':16}{line}")


def format_summary(report: CheckReport) -> str:
    counts = ", ".join(
        f"{report.count_verdict(verdict)} {word}"
        for verdict, word in (
            (StepVerdict.PASS, "passed"),
            (StepVerdict.WARNING, "warnings"),
            (StepVerdict.FAIL, "failed"),
            (StepVerdict.SKIPPED, "skipped"),
        )
    )
    return f"{len(report.outcomes)} steps in {report.seconds:.1f} s: {counts}."


def format_conclusion(report: CheckReport) -> str:
    """Write the conclusion of the whole check in a sentence."""
    strictly = ", strictly" if report.strict else ""
    unjudged = f"could not be judged as a {_format_role(report)}: {report.unjudged}."
    if report.is_in_other_league:
        return f"Nothing could be checked at {report.url}: {report.unjudged}."
    if report.count_verdict(StepVerdict.FAIL):
        return (
            f"The {_format_role(report)} at {report.url} fails{strictly}.{f' It {unjudged}' if report.unjudged else ''}"
        )
    if report.unjudged:
        return f"The agent at {report.url} {unjudged}"
    warnings = report.count_verdict(StepVerdict.WARNING)
    return f"The {_format_role(report)} at {report.url} passes{strictly}{', with warnings' if warnings else ''}."


def to_json(reports: Sequence[CheckReport]) -> str:
    """Write one JSON object: the report, or a list of reports if several agents were checked."""
    if len(reports) == 1:
        content: Any = _report_to_json(reports[0])
    else:
        content = {
            "ok": all(report.ok for report in reports),
            "reports": [_report_to_json(report) for report in reports],
        }
    return json.dumps(content, ensure_ascii=False, indent=1)


def _report_to_json(report: CheckReport) -> dict[str, Any]:
    return {
        "url": report.url,
        "role": report.role,
        "dialect": report.dialect,
        "strict": report.strict,
        "ok": report.ok,
        "unjudged": report.unjudged,
        "started": report.started,
        "seconds": round(report.seconds, 3),
        "counts": {str(verdict): report.count_verdict(verdict) for verdict in StepVerdict},
        "remarks": list(report.remarks),
        "steps": [{**asdict(outcome), "seconds": round(outcome.seconds, 3)} for outcome in report.outcomes],
    }


def to_junit(reports: Sequence[CheckReport]) -> str:
    """Write JUnit XML for CI systems: a warning is a passed test with output."""
    suites = ET.Element("testsuites")
    for report in reports:
        _add_suite(suites, report)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _add_suite(suites: ET.Element, report: CheckReport) -> None:
    suite = ET.SubElement(
        suites,
        "testsuite",
        name=_replace_invalid_xml(f"league check {report.url}"),
        tests=str(len(report.outcomes)),
        failures=str(report.count_verdict(StepVerdict.FAIL)),
        errors="0",
        skipped=str(report.count_verdict(StepVerdict.SKIPPED)),
        time=f"{report.seconds:.3f}",
        timestamp=report.started.removesuffix("Z"),
    )
    for outcome in report.outcomes:
        case = ET.SubElement(
            suite,
            "testcase",
            classname=f"league_check.{report.role}",
            name=_replace_invalid_xml(f"{outcome.number:03} {outcome.name}"),
            time=f"{outcome.seconds:.3f}",
        )
        words = "\n".join(f"{DETAIL_TITLES[name]}: {value}" for name, value in _list_details(outcome))
        if outcome.verdict is StepVerdict.FAIL:
            ET.SubElement(case, "failure", message=_replace_invalid_xml(outcome.came)).text = _replace_invalid_xml(
                words
            )
        elif outcome.verdict is StepVerdict.SKIPPED:
            ET.SubElement(case, "skipped", message=_replace_invalid_xml(outcome.came))
        elif outcome.verdict is StepVerdict.WARNING:
            ET.SubElement(case, "system-out").text = _replace_invalid_xml(f"WARNING\n{words}")


def to_html(reports: Sequence[CheckReport]) -> str:
    """Write one HTML page with all reports."""
    title = format_conclusion(reports[0]) if len(reports) == 1 else "league check"
    return _load_template("report.html").render(
        title=title, reports=reports, verdicts=StepVerdict, titles=DETAIL_TITLES
    )


def _load_template(name: str) -> "Template":
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - not needed until a page is written

    made = Environment(
        loader=make_report_loader("agent_league.check"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: _replace_invalid_xml(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals["report_style"] = load_report_style()
    made.filters |= {
        "conclusion": format_conclusion,
        "details": _list_details,
        "coded": lambda value: mark_code(_replace_invalid_xml(value)),
    }
    return made.get_template(name)


def _list_details(outcome: StepOutcome) -> list[tuple[str, str]]:
    return [(name, value) for name in DETAIL_TITLES if (value := getattr(outcome, name))]


def _format_role(report: CheckReport) -> str:
    return report.role.replace("_", " ")


def _replace_invalid_xml(text: str) -> str:
    return NOT_IN_XML.sub("\ufffd", text)
