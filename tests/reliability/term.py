"""A term in fast motion, to watch: `python -m tests.reliability.term [--teams 30]`.

One server has a practice ladder and the league that counts. Agents of three kinds sign up by their teams' addresses,
from two machines; those of the second can't be called and dial out. The server is killed, a referee joins late, one
match is played again and one awarded, a semi-final sends another player on after an appeal, and grades are written.
What must hold is checked on the way.
"""

import argparse
import csv
import json
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import agent_league.cli
from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.launch.stored_leagues import find_league
from tests.cli.command import LEAGUE, Running, environment, league
from tests.conftest import BOUND
from tests.reliability.machines import Prefix, connect_machines

STARTERS = Path(agent_league.cli.__file__).parent / "starters"
STDLIB_PLAYER = Path(__file__).with_name("late_listener.py")
SERVER = "http://10.77.0.1:8000"
PRACTICE, SPRING = "practice", "spring"
LIMITS = {"timeouts.move_timeout_sec": 30, "retry_policy.base_delay_sec": 0.1}
LADDER = {
    "league_id": PRACTICE,
    "display_name": "Practice",
    "game_type": "even_odd",
    "ladder": {"interval_sec": 1, "matches_per_hour": 3600, "house_bots": ["random"]},
}
LEAGUE_FILE = {
    "league_id": SPRING,
    "display_name": "Spring League",
    "game_type": "even_odd",
    "scheduling": {
        "stages": [{"format": "groups", "settings": {"group_size": 5}, "advance": 1}, {"format": "knockout"}],
        "lot": "term",
    },
    "participants": {"min_players": 2, "max_players": 300},
    "grading": {"rule": "rank_share"},
}


@dataclass(slots=True)
class Term:
    """The class, its server and its agents."""

    folder: Path
    here: Prefix
    there: Prefix
    teams: int
    tell: Callable[[str], None] = lambda _: None
    stack: ExitStack = field(default_factory=ExitStack)
    agents: dict[str, Running] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.folder / "SHARED"

    def run(self) -> None:
        """Play the whole term."""
        self.prepare()
        server = self.serve()
        self.practise()
        self.sign_up()
        self.command("admin", "start", "--league-id", SPRING)
        self.wait_for("ten results", lambda: len(self.results()) >= min(10, self.teams))
        before = self.results()
        self.tell("The server is killed; until it is back, the teams' agents are frozen by the league file.")
        server.signal(signal.SIGKILL)
        server.ends()
        self.freeze()
        self.serve()
        assert before.items() <= self.results().items(), "a result was lost"
        self.try_to_replace_frozen_agent()
        self.add_late_referee()
        self.wait_for("the end of the league", self.is_over)
        self.check_league()
        self.correct()
        self.appeal_in_semi_final()
        self.grade()

    def prepare(self) -> None:
        """Write the leagues and the roster, and make the sign-up sheets."""
        make_home(self.home)
        for settings in (LADDER, LEAGUE_FILE):
            (self.home / f"config/leagues/{settings['league_id']}.json").write_text(json.dumps(settings))
        rows = [("Student ID", "Name", "E-mail", "Team")]
        rows += [(f"{1000 + n}", f"Student {n}", f"s{n}@example.org", f"Team {n:02}") for n in range(1, self.teams + 1)]
        with (self.folder / "roster.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
        for league_id in (PRACTICE, SPRING):
            sheet = self.folder / f"{league_id}.html"
            address = f"{SERVER}/leagues/{league_id}"
            self.command(
                "class", self.folder / "roster.csv", "--league-id", league_id, "--sheet", sheet, "--public-url", address
            )
        self.tell(f"{self.teams} teams have their sign-up addresses.")

    def serve(self) -> Running:
        settings = [part for name, value in LIMITS.items() for part in ("--set", f"{name}={value}")]
        server = self.start(
            self.here, *LEAGUE, "serve", "--host", "10.77.0.1", "--port", 8000, "--home", self.home, *settings
        )
        server.prints("Ctrl-C stops it")
        self.tell("The server is up.")
        return server

    def practise(self) -> None:
        """Some teams meet on the ladder, and stop."""
        for number in range(1, 5):
            self.start_agent(number, PRACTICE)
        self.wait_for("practice matches", lambda: len(self.results(PRACTICE)) >= 6)
        self.tell(f"{len(self.results(PRACTICE))} practice matches were played.")
        for agent in self.agents.values():
            agent.close()
        self.agents.clear()

    def sign_up(self) -> None:
        """All teams sign up for the league; a third of them from the other machine, dialling out."""
        for number in range(1, self.teams + 1):
            self.start_agent(number, SPRING)
        self.wait_for("all teams", lambda: len(self.standings()["standings"]) == self.teams)
        self.tell(f"{self.teams} agents have signed up.")

    def start_agent(self, number: int, league_id: str) -> None:
        """Start a team's agent: ours, the starter for Node, or one of the standard library, in turn."""
        address, port, name = self.addresses(league_id)[f"Team {number:02}"], 8100 + number, f"Team {number:02}"
        dials = number % 9 in (1, 2, 3)
        machine = self.there if dials else self.here
        kind = number % 3
        own = self.folder / "agents" / league_id / str(number)
        own.mkdir(parents=True, exist_ok=True)
        if kind == 1 or (kind == 2 and not shutil.which("node")):
            command: list[object] = [*LEAGUE, "player", "--name", name, "--home", own, "--port", port]
            (own / "key").write_text(address)
            command += ["--key-file", own / "key", *(["--dial-out"] if dials else [])]
        elif kind == 2:
            shutil.copytree(STARTERS / "javascript", own, dirs_exist_ok=True)
            command = ["node", own / "player.js", "--name", name, "--port", port, "--manager", address]
            command += ["--dial-out"] if dials else []
        else:
            host = "127.0.0.1" if dials else "10.77.0.1"
            if dials:
                carrier = self.start(
                    machine, *LEAGUE, "connect", f"http://127.0.0.1:{port}/mcp", "--manager", address, "--home", own
                )
                carrier.prints("http://127.0.0.1")
                self.agents[f"{name}, carried"] = carrier
            command = [sys.executable, STDLIB_PLAYER, host, port, address, name, 0]
        self.agents[name] = self.start(machine, *command)

    def try_to_replace_frozen_agent(self) -> None:
        """A team comes with another agent although the league is frozen; it is refused."""
        address = self.addresses(SPRING)["Team 03" if self.teams >= 3 else "Team 01"]
        late = self.start(self.here, sys.executable, STDLIB_PLAYER, "10.77.0.1", 8299, address, "Another agent", 0)
        late.prints("Registered as None")
        late.close()
        self.tell("A team that comes with another agent after the freeze is refused.")

    def freeze(self) -> None:
        frozen = {**LEAGUE_FILE, "times": {"freeze": datetime.now(UTC).isoformat(timespec="seconds")}}
        (self.home / f"config/leagues/{SPRING}.json").write_text(json.dumps(frozen))

    def add_late_referee(self) -> None:
        """A referee of the organiser's joins from another machine while the league runs."""
        printed = self.command(
            "class", "--referee-key", "--league-id", SPRING, "--public-url", f"{SERVER}/leagues/{SPRING}"
        )
        address = next(word for word in printed.split() if "/join/" in word)
        (self.folder / "referee.key").write_text(address.strip("`.,"))
        referee = self.start(
            self.there, *LEAGUE, "referee", "--key-file", self.folder / "referee.key", "--home", self.folder / "referee"
        )
        referee.prints("Registered as")
        self.tell("A referee has joined late, from the other machine.")

    def check_league(self) -> None:
        """Nobody lost technically, every match file holds, and the table is the one that the rows give."""
        results = self.results()
        technical = {match_id: result for match_id, result in results.items() if "TECHNICAL" in str(result)}
        assert not technical, f"lost technically: {technical}; the agents said: {self.describe_agents()}"
        self.check_table()
        self.command("verify", self.home / "data/matches" / SPRING)
        champion = self.standings()["standings"][0]
        self.tell(f"The league is over after {len(results)} matches; {champion['display_name']} is first.")

    def check_table(self) -> None:
        """The table of the running server is that of its rows, read anew."""
        loader = ConfigLoader(self.home)
        anew = find_league(self.home, loader, SPRING, None).make_reader().state.standings()
        shown = self.standings()["standings"]
        assert [(row.player_id, row.points) for row in anew] == [(row["player_id"], row["points"]) for row in shown]
        kept = json.loads((self.home / f"data/leagues/{SPRING}/standings.json").read_text())["standings"]
        assert [(row["player_id"], row["points"]) for row in kept] == [
            (row["player_id"], row["points"]) for row in shown
        ]

    def correct(self) -> None:
        """Play the final again and award a group match as it was decided, after an appeal."""
        final = list(self.results())[-1]
        self.command("admin", "rerun", final, "--league-id", SPRING, "--reason", "the network was down")
        self.wait_for("the rerun", lambda: f"{final}-2" in self.results())
        self.wait_for("the end with it", self.is_over)
        decided = self.results()["R1M2"]["winner"] or "draw"
        said = self.command("admin", "award", "R1M2", decided, "--league-id", SPRING, "--reason", "an appeal")
        self.tell(f"{final} was played again; {said.strip()}")
        self.wait_for("the corrected end", self.is_over)
        self.check_table()

    def appeal_in_semi_final(self) -> None:
        """Award a semi-final to its loser: the final is void, and the right two play another one."""
        saved = find_league(self.home, ConfigLoader(self.home), SPRING, None).saved
        titles = {row.round_id: str(row.plan.get("title", "")).lower() for row in saved.rounds}
        semis = [one for one in saved.matches if "semi-finals" in titles[one.round_id] and (one.result or {})["winner"]]
        finals = [one for one in saved.matches if "final" in titles[one.round_id].rpartition("knockout, ")[2][:5]]
        finalists = {player for one in finals for player in (one.player_a, one.player_b)}
        won = Counter((frozenset((one.player_a, one.player_b)), (one.result or {})["winner"]) for one in semis)
        decisive = [
            (one, robbed)
            for one in semis
            for robbed in {one.player_a, one.player_b} - finalists
            if won[pair := frozenset((one.player_a, one.player_b)), (one.result or {})["winner"]]
            == won[pair, robbed] + 1
        ]
        if not decisive:
            self.tell("There was no semi-final whose appeal would send another player on.")
            return
        semi, robbed = decisive[-1]
        order = ("admin", "award", semi.match_id, robbed, "--league-id", SPRING, "--reason", "an appeal")
        assert "--void-followers" in self.command(*order, is_refused=True)
        said = self.command(*order, "--void-followers")
        self.tell(said.strip())
        self.wait_for("the second final", lambda: self.is_over() and len(self.results()) > len(saved.matches))
        results = self.results()
        assert all(
            "void" in str(results[one]["terminations"])
            for one in (final.match_id for final in finals)
            if f"{one}-2" not in results
        )
        assert robbed in list(results.values())[-1]["players"], "the right player is in the final"
        self.check_table()
        champion = self.standings()["standings"][0]
        self.tell(f"The second final is over; {champion['display_name']} is first.")

    def grade(self) -> None:
        """Write grades in four forms and read them back."""
        export = self.folder / "canvas.csv"
        students = "".join(f'"{n}, Student",{n},{1000 + n},s{n},CS\n' for n in range(1, self.teams + 1))
        export.write_text(f"Student,ID,SIS User ID,SIS Login ID,Section\n    Points Possible,,,,\n{students}")
        columns = {
            ("--everything",): ("student_id", "grade"),
            ("--moodle",): ("ID number", "Spring League"),
            ("--gradescope",): ("SID", "Total Score"),
            ("--canvas", export): ("SIS User ID", "Spring League"),
        }
        read = []
        for options, (student, score) in columns.items():
            text = self.command("grades", *options, "--league-id", SPRING)
            rows = csv.DictReader(text.splitlines())
            read.append({row[student]: float(row[score]) for row in rows if row[student] and row[score]})
        assert all(grades == read[0] for grades in read)
        assert len(read[0]) == self.teams
        self.tell(
            f"{self.teams} grades, the same in four forms: from {min(read[0].values())} to {max(read[0].values())}."
        )

    def is_over(self) -> bool:
        saved = find_league(self.home, ConfigLoader(self.home), SPRING, None).saved
        return saved.season.announced and all(match.result for match in saved.matches)

    def addresses(self, league_id: str) -> Mapping[str, str]:
        """The sign-up addresses of the sheet, by team."""
        with (self.folder / f"{league_id}.csv").open(encoding="utf-8-sig", newline="") as file:
            return {row["team"]: row["sign_up_url"] for row in csv.DictReader(file)}

    def standings(self, league_id: str = SPRING) -> Any:
        return self.show("standings", league_id)

    def results(self, league_id: str = SPRING) -> dict[str, Any]:
        saved = find_league(self.home, ConfigLoader(self.home), league_id, None).saved
        return {
            match.match_id: dict(match.result) | {"players": [match.player_a, match.player_b]}
            for match in saved.matches
            if match.result
        }

    def show(self, what: str, league_id: str) -> Any:
        done = league("show", what, "--json", "--league-id", league_id, "--home", self.home)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def command(self, *arguments: object, is_refused: bool = False) -> str:
        """Run a command on the server's machine; what it printed."""
        where = [] if arguments[0] == "verify" else ["--home", self.home]
        done = Running([*self.here, *LEAGUE, *arguments, *where], env=environment())
        try:
            assert (done.ends() != 0) is is_refused, done.text
            return "".join(done.out) if arguments[0] == "grades" else done.text
        finally:
            done.close()

    def start(self, machine: Prefix, *command: object) -> Running:
        process = Running([*machine, *command], env=environment())
        self.stack.callback(process.close)
        return process

    def wait_for(self, what: str, is_there: Callable[[], bool]) -> None:
        deadline = time.monotonic() + BOUND
        while not is_there():
            assert time.monotonic() < deadline, f"waited for {what}; the agents said: {self.describe_agents()}"
            time.sleep(0.2)

    def describe_agents(self) -> str:
        return "\n".join(f"{name}: {agent.text[-300:]}" for name, agent in self.agents.items())


@contextmanager
def make_term(folder: Path, teams: int, tell: Callable[[str], None] = lambda _: None) -> Iterator[Term]:
    """Make the two machines and what is on them; everything ends with the context. Raises MachinesUnavailable."""
    with connect_machines() as (here, there), ExitStack() as stack:
        yield Term(folder, here, there, teams, tell, stack)


def tell(began: float, sentence: str) -> None:
    sys.stdout.write(f"{time.monotonic() - began:6.1f} s  {sentence}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description="Play a term in fast motion.")
    parser.add_argument("--teams", type=int, default=30)
    teams = parser.parse_args().teams
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as folder,
        make_term(Path(folder), teams, lambda sentence: tell(began, sentence)) as term,
    ):
        term.run()


if __name__ == "__main__":
    main()
