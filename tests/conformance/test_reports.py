"""The four forms of a report; whatever an agent said is shown and never obeyed."""

import json
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as ET

from agent_league.conformance.reports import as_html, as_json, as_junit, judgement, summary, text_lines
from agent_league.conformance.steps import Outcome, Report, Verdict

EVIL = "<script>alert(1)</script>\x1b[31m\x00&\"'"
OUTCOMES = (
    Outcome(1, "a server listens", Verdict.PASS, "a connection", "a connection", "connected", "", 0.01),
    Outcome(2, "health", Verdict.WARNING, "GET /health", "200", "HTTP 404", "Add GET /health.", 0.02),
    Outcome(3, "the choice", Verdict.FAIL, "POST /mcp", '"even"', EVIL, "Write 'parity_choice' small.", 0.03),
    Outcome(4, "moves", Verdict.SKIPPED, "", "a move", "not served", "", 0.0),
)
REPORT = Report("http://localhost:8101/mcp", "player", "league.v2", False, "2025-01-15T10:30:00Z", 1.25, OUTCOMES)


def test_in_the_terminal_a_passed_step_is_one_line_and_the_others_say_more() -> None:
    lines = [list(text_lines(outcome)) for outcome in OUTCOMES]
    assert lines[0] == ["  1 ok   a server listens"]
    assert lines[1][0] == "  2 WARN health"
    assert [line.split(":")[0].strip() for line in lines[1][1:]] == ["sent", "expected", "came", "how to mend it"]
    assert lines[3] == ["  4 skip moves (not served)"]


def test_in_full_a_passed_step_shows_its_details_too() -> None:
    assert len(list(text_lines(OUTCOMES[0], in_full=True))) == 4


def test_the_terminal_obeys_nothing_that_an_agent_says() -> None:
    assert all(line.isprintable() for line in text_lines(OUTCOMES[2]))


def test_the_summary_counts_and_the_judgement_says_it_in_a_sentence() -> None:
    assert summary(REPORT) == "4 steps in 1.2 s: 1 passed, 1 warnings, 1 failed, 1 skipped."
    assert judgement(REPORT) == "The player at http://localhost:8101/mcp fails."


def test_as_json_one_report_is_the_object_and_several_are_a_list() -> None:
    one, two = json.loads(as_json([REPORT])), json.loads(as_json([REPORT, REPORT]))
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
    (suite,) = ET.fromstring(as_junit([REPORT]).split("\n", 1)[1])
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
    page.feed(as_html([REPORT, REPORT]))
    assert "script" not in page.tags
    assert "link" not in page.tags
    assert page.tags.count("article") == 2
    assert page.links == page.ids
    assert len(set(page.ids)) == 2 * len(OUTCOMES)
    assert "<script>alert(1)</script>" in page.text
    for word in ("Write 'parity_choice' small.", "1 fail", "league.v2", "HTTP 404"):
        assert word in page.text
    assert "prefers-color-scheme: dark" in page.text
