"""The four forms of a report; whatever an agent said is shown and never obeyed."""

import json
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as ET

from agent_league.check.reports import (
    TerminalReport,
    format_conclusion,
    format_failures,
    format_outcome_lines,
    format_summary,
    to_html,
    to_json,
    to_junit,
)
from agent_league.check.steps import CheckReport, StepOutcome, StepVerdict

EVIL = "<script>alert(1)</script>\x1b[31m\x00&\"'"
OUTCOMES = (
    StepOutcome(1, "a server listens", StepVerdict.PASS, "a connection", "a connection", "connected", "", 0.01),
    StepOutcome(2, "health", StepVerdict.WARNING, "GET /health", "200", "HTTP 404", "Add GET /health.", 0.02),
    StepOutcome(3, "the choice", StepVerdict.FAIL, "POST /mcp", '"even"', EVIL, "Write 'parity_choice' small.", 0.03),
    StepOutcome(4, "moves", StepVerdict.SKIPPED, "", "a move", "not served", "", 0.0),
)
REPORT = CheckReport("http://localhost:8101/mcp", "player", "league.v2", False, "2025-01-15T10:30:00Z", 1.25, OUTCOMES)


def test_in_the_terminal_a_passed_step_is_one_line_and_the_others_say_more() -> None:
    lines = [list(format_outcome_lines(outcome)) for outcome in OUTCOMES]
    assert lines[0] == ["  1 ok   a server listens"]
    assert lines[1][0] == "  2 WARN health"
    assert [line.split(":")[0].strip() for line in lines[1][1:]] == ["how to mend it", "sent", "expected", "came"]
    assert lines[3] == ["  4 skip moves (not served)"]


def test_in_full_a_passed_step_shows_its_details_too() -> None:
    assert len(list(format_outcome_lines(OUTCOMES[0], in_full=True))) == 4


def test_in_html_code_within_sentences_is_marked_as_code() -> None:
    hint = "Call `register_player` at <b>once</b>, as `league join` does; an odd ` stays."
    page = to_html([replace(REPORT, outcomes=(failing(1, hint),), remarks=("See `league check --help`.",))])
    assert "Call <code>register_player</code> at &lt;b&gt;once&lt;/b&gt;, as <code>league join</code> does;" in page
    assert "an odd ` stays." in page
    assert "See <code>league check --help</code>." in page


def skipped(number: int, why: str) -> StepOutcome:
    return StepOutcome(number, f"step {number}", StepVerdict.SKIPPED, "", "", why, "", 0.0)


def failing(number: int, hint: str, sent: str = "POST /mcp") -> StepOutcome:
    return StepOutcome(number, f"step {number}", StepVerdict.FAIL, sent, "all", "nothing", hint, 0.0)


def shown(*outcomes: StepOutcome, in_full: bool = False) -> list[str]:
    terminal = TerminalReport(in_full=in_full)
    return [*(line for outcome in outcomes for line in terminal.format_outcome(outcome)), *terminal.flush_skipped()]


def test_steps_that_are_skipped_for_one_reason_are_counted_in_one_line() -> None:
    gone = [skipped(number, "nobody listens") for number in (2, 3, 4)]
    assert shown(OUTCOMES[0], skipped(1, "a reason"), *gone) == [
        "  1 ok   a server listens",
        "  1 skip step 1 (a reason)",
        "    3 more steps were skipped: nobody listens",
    ]
    assert len(shown(*gone, in_full=True)) > len(gone)


def test_a_hint_is_given_once_and_of_many_requests_only_the_first_is_shown() -> None:
    lines = shown(failing(2, "Add it.", "POST one\nPOST two\nPOST three"), failing(3, "Add it."))
    assert lines[1:4] == [
        "         how to mend it: Add it.",
        "         sent:           POST one",
        "                         and 2 others",
    ]
    assert "         how to mend it: as at step 2" in lines


def test_at_the_end_failures_that_are_out_of_sight_are_listed_with_their_hints() -> None:
    passes = [replace(OUTCOMES[0], number=number) for number in range(2, 40)]
    near, far = (
        replace(REPORT, outcomes=(failing(1, "Add it."),)),
        replace(REPORT, outcomes=(failing(1, "Add it."), *passes)),
    )
    assert format_failures(near) == []
    assert format_failures(far) == ["What failed:", "  1 step 1: Add it.", ""]
    both = replace(far, outcomes=(*far.outcomes, failing(40, "Add it.")))
    assert format_failures(both)[1] == "  1 step 1 (and 40): Add it."


def test_what_could_not_be_judged_does_not_pass() -> None:
    report = replace(REPORT, role="referee", outcomes=OUTCOMES[:1], unjudged="no match was played")
    assert (report.ok, report.exit_code) == (False, 1)
    assert format_conclusion(report).endswith("could not be judged as a referee: no match was played.")
    elsewhere = replace(report, is_in_other_league=True)
    assert elsewhere.exit_code == 2
    assert format_conclusion(elsewhere).startswith("Nothing could be checked")


def test_the_terminal_obeys_nothing_that_an_agent_says() -> None:
    assert all(line.isprintable() for line in format_outcome_lines(OUTCOMES[2]))


def test_the_summary_counts_and_the_judgement_says_it_in_a_sentence() -> None:
    assert format_summary(REPORT) == "4 steps in 1.2 s: 1 passed, 1 warnings, 1 failed, 1 skipped."
    assert format_conclusion(REPORT) == "The player at http://localhost:8101/mcp fails."


def test_as_json_one_report_is_the_object_and_several_are_a_list() -> None:
    one, two = json.loads(to_json([REPORT])), json.loads(to_json([REPORT, REPORT]))
    assert (one["ok"], one["role"], one["dialect"], one["counts"]["fail"]) == (False, "player", "league.v2", 1)
    assert one["steps"][2] == {
        "number": 3,
        "name": "the choice",
        "verdict": "fail",
        "sent": "POST /mcp",
        "expected": '"even"',
        "came": EVIL,
        "hint": "Write 'parity_choice' small.",
        "seconds": 0.03,
    }
    assert two["ok"] is False
    assert len(two["reports"]) == 2


def test_as_junit_a_failure_is_a_failure_and_the_xml_can_be_read() -> None:
    (suite,) = ET.fromstring(to_junit([REPORT]).split("\n", 1)[1])
    counts = {name: suite.get(name) for name in ("tests", "failures", "skipped")}
    assert counts == {"tests": "4", "failures": "1", "skipped": "1"}
    kinds = [[child.tag for child in case] for case in suite]
    assert kinds == [[], ["system-out"], ["failure"], ["skipped"]]
    failure = suite[2][0]
    assert "<script>" in str(failure.get("message"))
    assert "Write 'parity_choice' small." in str(failure.text)


class Tags(HTMLParser):
    """What a browser would see."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        named = dict(attrs)
        if tag == "a":
            self.links.append(named["href"].removeprefix("#"))
        if "id" in named:
            self.ids.append(named["id"])
        assert not {name for name, _ in attrs} & {"src", "onclick", "onload"}

    def handle_data(self, data: str) -> None:
        self.text += data


def test_as_html_there_is_one_page_without_scripts_in_which_every_link_leads_somewhere() -> None:
    page = Tags()
    page.feed(to_html([REPORT, REPORT]))
    assert "script" not in page.tags
    assert "link" not in page.tags
    assert page.tags.count("article") == 2
    assert [link for link in page.links if page.links.count(link) == 1] == [
        name for name in page.ids if not name.endswith(("step-2", "step-3"))
    ]
    assert set(page.links) == set(page.ids)
    assert page.links[:2] == ["check-1-step-3", "check-1-step-2"]
    assert len(set(page.ids)) == 2 * len(OUTCOMES)
    assert "<script>alert(1)</script>" in page.text
    for word in ("Write 'parity_choice' small.", "1 fail", "league.v2", "HTTP 404"):
        assert word in page.text
    assert "prefers-color-scheme: dark" in page.text
