"""Every how-to page works as it stands: its commands run in order, after what a reader has done before them."""

import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.page_script import ROOT, has_network, list_blocks, run_page

DOCS = ROOT / "docs"
MODEL_SERVER = ROOT / "tests" / "llm" / "ollama.py"


def read_block(page: str, language: str, number: int = 0) -> str:
    return [block.text for block in list_blocks(DOCS / f"{page}.md") if block.language == language][number]


def write_file(name: str, text: str) -> str:
    """The command that writes a file that a page shows, where the page says."""
    return f"mkdir -p $(dirname {name}) && cat > {name} <<'END'\n{text}END"


def add_settings(page: str, file: str) -> str:
    """The commands that put what a page shows into a file of settings."""
    path = f"SHARED/config/{file}"
    shown = write_file("shown.json", read_block(page, "json"))
    return f"{shown}\njq -s '.[0] * .[1]' {path} shown.json > all.json && mv all.json {path}"


TWO_PLAYERS = """league referee &
league player --name 'Agent Alpha' --port 8101 &
league player --name 'Agent Beta' --port 8102 &"""
A2A_LEAGUE = """league manager --players 2 --referees 1 &
league referee --port 8001 &
league player --port 8101 --name Rival --strategy random &
.venv/bin/python examples/a2a_agent.py 9001 &
answers http://localhost:9001/.well-known/agent-card.json"""
PLAYED = "league run --players 4 --seed 7 --no-stay"
WAIT = "answers http://localhost:8000/"
ROSTER = write_file(
    "roster.csv", "student id,name,e-mail,team\n1,Ada,ada@example.org,Agent Alpha\n2,Ben,ben@example.org,Agent Beta\n"
)
CANVAS = 'Student,ID,SIS User ID,SIS Login ID,Section\n,,,,\n"Lovelace, Ada",11,1,ada@example.org,A\n'


@dataclass(frozen=True)
class Page:
    """What has been done before commands of the page, by how they begin, and what they print."""

    done_before: dict[str, str] = field(default_factory=dict)
    prints: tuple[str, ...] = ()


PAGES = {
    "several-machines": Page(
        {
            "": "league player --port 8102 --name Bob --manager http://10.0.0.5:8000 &\nleague watch http://10.0.0.5:8000"
        },
        ("Champion",),
    ),
    "formats": Page(
        {
            "league show bracket": f"league new league cup\n{add_settings('formats', 'leagues/cup.json')}\n"
            "league run --league-id cup --players 8 --no-stay"
        },
        ("Champion",),
    ),
    "watching": Page(
        {
            "league admin pause": f"league run --set 'times.rounds=[\"mon 18:00\"]' &\n{WAIT}standings.csv P04",
            "league watch": "stop\nleague run --new --stay &",
        },
        ("Champion",),
    ),
    "troubleshooting": Page(
        {"league check": "league player --practice --port 8101 &", "league logs --match": f"stop\n{PLAYED}"},
        ("passes",),
    ),
    "interoperation": Page({"./league check": "league player --practice --port 8101 &"}, ("passes",)),
    "ladder": Page(
        {
            "league manager": write_file("SHARED/config/leagues/practice.json", read_block("ladder", "json")),
            "": "answers http://localhost:8101/health '\"id\":\"P0'\nanswers http://localhost:8000/ 'Team 1'",
        },
        ("Registered as P0",),
    ),
    "corrections": Page(
        {
            "league admin rerun": "league run --stay &\nleague watch http://localhost:8000",
            "league admin award R1M1": "stop\nleague run --new --format knockout --players 8 --seed 7 --no-stay\n"
            f"league manager --reopen &\n{WAIT}",
            "league manager --reopen": "stop",
            "": WAIT,
        },
        ("R1M1 is awarded to P08",),
    ),
    "class": Page(
        {
            "league class": ROSTER,
            "league admin invite": f"league manager --players 9 &\n{TWO_PLAYERS}\n{WAIT}standings.csv P02",
        },
        ("http://localhost:8000/sign-in/",),
    ),
    "deploy": Page(
        {
            "league new": f"{ROSTER}\nleague init SHARED\n{add_settings('deploy', 'system.json')}\n"
            f"league config check\nleague serve &\n{WAIT}",
            "league admin invite": "grep https://league.example.org/league/leagues/spring/join/ sign-up-spring.csv",
            "league backup": "stop",
            "": "answers http://localhost:8000/ 'Even/Odd League'",
        },
        ("Serving 2 leagues at https://league.example.org/league/", "/league/leagues/spring/sign-in/key-"),
    ),
    "dial-out": Page(
        {
            "league connect": "league manager --host 0.0.0.0 --players 2 "
            f"--set network.public_url=http://league.example:8000 &\n{WAIT}\n"
            "league referee --manager http://league.example:8000 &",
            "": "league player --port 8101 --name Ann --manager http://league.example:8000 &\n"
            "league player --port 8102 --name Bob --manager http://league.example:8000 &\n"
            "league watch http://league.example:8000",
        },
        ("Champion",),
    ),
    "grades": Page(
        {
            "league grades": f"{ROSTER}\nleague class roster.csv\n"
            f"{add_settings('grades', 'leagues/league_2025_even_odd.json')}\n{PLAYED}\n"
            + write_file("export.csv", CANVAS)
        },
        ("wrote grades.csv", "wrote import.csv", "wrote moodle.csv", "wrote scores.csv"),
    ),
    "install": Page({}, ("Champion",)),
    "llm": Page(
        {
            "league player": f"{sys.executable} {MODEL_SERVER} &\nleague manager --players 2 --referees 1 &\n"
            "league referee &\nleague player --name Rival --port 8102 &",
            "league player --port 8101 --strategy llm --base-url http://localhost:11434/v1 --model qwen3:8b --prompt": (
                "league watch http://localhost:8000\nstop\n"
                f"{sys.executable} {MODEL_SERVER} &\nleague manager --players 2 --referees 1 &\nleague referee &\n"
                "league player --name Rival --port 8102 &\n" + write_file("my-prompt.txt", read_block("llm", "text"))
            ),
            "": "league watch http://localhost:8000",
        },
        ("Champion",),
    ),
    "a2a": Page(
        {
            "./league invite-a2a http://localhost:9001": "answers http://localhost:9001/.well-known/agent-card.json",
            "./league player --protocol a2a": f"league watch http://localhost:8000\nstop\n{A2A_LEAGUE}",
            "./league check": "league watch http://localhost:8000",
            "./league player --port 8102": "stop",
            "": "answers http://localhost:9009/.well-known/agent-card.json\n"
            "answers http://localhost:8102/.well-known/agent-card.json",
        },
        ("First Move is asked for its moves at", "agent-card.json passes."),
    ),
    "mcp-hosts": Page(
        {
            ".venv/bin/python": "league run --players 3 --guests 1 --no-stay &",
            "": "wait",
        },
        ("The league is over. You are number ",),
    ),
    "mcp": Page(
        {
            "curl": f"league run --guests 1 --stay &\n{WAIT}",
            "": "league watch http://localhost:8000",
        },
        ("get_standings", "Champion"),
    ),
    "weeks": Page(
        {
            "league admin times": write_file(
                "SHARED/config/leagues/autumn.json", read_block("weeks", "json").replace("202", "209")
            )
            + f"\nleague manager --league-id autumn &\n{WAIT}"
        },
        ("Times are changed: rounds: mon 18:00, wed 18:00.",),
    ),
}

INSTALLS = "changes the environment, and the tests' own has what it brings; tests/test_wheel.py installs a wheel"
ROOT_ONLY = "needs root and systemd; tests/serve/test_deployment.py reads the units and starts what they start"
HOST = "needs Claude Code; tests/gateway/test_page.py starts what it would start and speaks MCP to it"
PAID = "needs a key that costs; tests/llm asks a server of our own in the same form"
MINUTES = "takes minutes; tests/bench runs it with less to do"
NOT_RUN = {
    "./league test": "is what runs this",
    ".venv/bin/pip install": INSTALLS,
    "pip install": INSTALLS,
    "pipx install": INSTALLS,
    "useradd": ROOT_ONLY,
    "python3 -m venv /opt": ROOT_ONLY,
    "/opt/league/bin/pip": ROOT_ONLY,
    "install -": ROOT_ONLY,
    "cd /var/lib/league": ROOT_ONLY,
    "alias league=": ROOT_ONLY,
    "runuser": ROOT_ONLY,
    "systemctl": ROOT_ONLY,
    "LEAGUE_DB_PASSWORD=choose-one docker": (
        "needs Docker; tests/serve/test_deployment.py starts the command of each service as written"
    ),
    "league serve --host 10.0.0.1": (
        "needs several machines and PostgreSQL; tests/serve/test_shared_leagues.py has several servers"
    ),
    "claude mcp add": HOST,
    "/path/to/agent-league/league join": HOST,
    "./league play ": "needs somebody at the keyboard; tests/cli/test_play.py types at a terminal",
    "./league invite-a2a https://agent.example.org": (
        "names somebody else's agent; tests/a2a/test_registration.py invites one with a secret"
    ),
    "export OPENAI_API_KEY": PAID,
    "league player --port 8101 --strategy llm --model openai:": PAID,
    "league run --players 4 --strategy llm:small,llm:large": PAID,
    "./league dev bench": MINUTES,
    ".venv/bin/python -m bench": MINUTES,
    ".venv/bin/python -m tests.reliability.servers": "takes minutes; tests/reliability/test_servers.py kills fewer",
}
"""Commands that no test runs, by how they begin, and why not."""


@pytest.mark.skipif(not has_network(), reason="needs a network of its own (unshare) for ports from 8000 on")
@pytest.mark.parametrize("name", PAGES)
def test_the_commands_of_a_page_run_as_they_stand(name: str, tmp_path: Path) -> None:
    if missing := [one for one in ("curl", "jq") if not shutil.which(one)]:
        pytest.skip(f"needs {', '.join(missing)}")
    page = PAGES[name]
    said = run_page(DOCS / f"{name}.md", tmp_path, page.done_before, NOT_RUN)
    assert [words for words in page.prints if words not in said] == []
