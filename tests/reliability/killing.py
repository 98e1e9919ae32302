"""Kills the processes of a real league at random moments, starts them again, and judges what comes of it.

`python -m tests.reliability.killing --seed 1 --kills 20 --players 16 --victims manager,referees`
"""

import argparse
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.reliability.terminals import Terminal, Terminals
from tests.reliability.verdict import Undisturbed, complaints, is_over, undisturbed

MANAGER, REFEREES, PLAYERS = "manager", "referees", "players"
BACK = re.compile(r"League Manager of|Registered as")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What is to be killed."""

    seed: str
    kills: int = 20
    players: int = 16
    referees: int = 3
    victims: tuple[str, ...] = (MANAGER, REFEREES)
    thinking: float = 1.0
    """Seconds that a player takes for its choice."""
    gap: float = 1.0
    """Seconds between two kills, on the average."""
    pause: float = 1.5
    """Seconds before what was killed is started again, at most."""
    after: str = "League Manager of"
    """What the manager has to print before anybody is killed."""
    own_homes: bool = False
    limit: float = 240
    """Seconds after which the league counts as hanging."""


@dataclass(frozen=True)
class Verdict:
    kills: int
    seconds: float
    longest_return: float
    complaints: Sequence[str]


def kill_at_random(plan: Plan, folder: Path, expected: Undisturbed, say: Say = lambda _: None) -> Verdict:
    """Plays one league in which processes are killed."""
    terminals = Terminals(
        folder,
        seed=plan.seed,
        players=plan.players,
        referees=plan.referees,
        thinking=plan.thinking,
        own_homes=plan.own_homes,
    )
    with terminals:
        killer = Killer(plan, terminals, say)
        seconds = killer.play()
        terminals.end()
        wrong = [*killer.complaints, *complaints(terminals, expected)]
        kills = sum(terminal.kills for terminal in terminals.all)
        return Verdict(kills, seconds, max(killer.returns, default=0), wrong)


class Killer:
    """Goes about among the terminals until the league is over."""

    def __init__(self, plan: Plan, terminals: Terminals, say: Say) -> None:
        self._plan = plan
        self._terminals = terminals
        self._say = say
        self._rng = random.Random(plan.seed)
        self._dead: dict[str, tuple[float, Terminal]] = {}
        self._returning: dict[str, tuple[float, Terminal]] = {}
        self.returns: list[float] = []
        """Seconds from a restart to a place in the league."""
        self._begun = time.monotonic()
        self.complaints: list[str] = []

    def play(self) -> float:
        """Starts all, kills some, and waits until all agents have gone home; how long that took."""
        for terminal in self._terminals.all:
            terminal.start()
        self._terminals.manager.lives[-1].prints(self._plan.after)
        next_kill = self._now() + self._gap()
        left = self._plan.kills
        while not self._is_over():
            now = self._now()
            if now > self._plan.limit:
                alive = [terminal.name for terminal in self._terminals.agents if terminal.is_alive]
                self.complaints.append(f"the league hangs; {alive} still wait")
                break
            if left and now >= next_kill and not self._has_ended() and (victim := self._victim()):
                left -= 1
                self._kill(victim)
                next_kill = now + self._gap()
            for back_at, terminal in list(self._dead.values()):
                if now >= back_at:
                    self._bring_back(terminal)
            self._welcome()
            time.sleep(0.01)
        if left:
            self.complaints.append(f"the league was over with {left} kills left to do")
        return self._now()

    def _victim(self) -> Terminal | None:
        """Somebody who is alive; a kind first, so that the one manager is killed as often as the many players."""
        kinds = {
            MANAGER: [self._terminals.manager],
            REFEREES: self._terminals.referees,
            PLAYERS: self._terminals.players,
        }
        alive = [[one for one in kinds[kind] if one.is_alive] for kind in self._plan.victims]
        some = [kind for kind in alive if kind]
        return self._rng.choice(self._rng.choice(some)) if some else None

    def _kill(self, victim: Terminal) -> None:
        pause = self._rng.uniform(0, self._plan.pause)
        victim.kill()
        self._returning.pop(victim.name, None)
        self._dead[victim.name] = (self._now() + pause, victim)
        self._say(f"{self._now():6.2f} s  kill -9 {victim.name}, back in {pause:.2f} s")

    def _bring_back(self, terminal: Terminal) -> None:
        del self._dead[terminal.name]
        if terminal is self._terminals.manager and is_over(terminal.home):
            self._say("the manager was killed after the end: the league is over, and not begun anew")
            return
        terminal.start()
        self._returning[terminal.name] = (self._now(), terminal)

    def _welcome(self) -> None:
        for since, terminal in list(self._returning.values()):
            if BACK.search(terminal.lives[-1].text):
                del self._returning[terminal.name]
                self.returns.append(self._now() - since)
                self._say(f"{self._now():6.2f} s  {terminal.name} is back, {self.returns[-1]:.2f} s after its start")

    def _has_ended(self) -> bool:
        return any(terminal.ended_by_itself for terminal in self._terminals.agents)

    def _is_over(self) -> bool:
        gone = not self._dead and all(terminal.ended_by_itself for terminal in self._terminals.agents)
        return gone and is_over(self._terminals.manager.home)

    def _gap(self) -> float:
        return self._rng.uniform(0.2, 1.8) * self._plan.gap

    def _now(self) -> float:
        return time.monotonic() - self._begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--players", type=int, default=16)
    parser.add_argument("--referees", type=int, default=3)
    parser.add_argument("--victims", default=f"{MANAGER},{REFEREES}", help=f"of {MANAGER},{REFEREES},{PLAYERS}")
    parser.add_argument("--thinking", type=float, default=1.0, help="seconds that a player takes for its choice")
    parser.add_argument("--gap", type=float, default=1.0, help="seconds between kills, on the average")
    parser.add_argument("--pause", type=float, default=1.5, help="seconds before a restart, at most")
    parser.add_argument("--after", default=Plan.after, help="what the manager prints before the first kill")
    parser.add_argument("--own-homes", action="store_true", help="a SHARED folder for each agent")
    parser.add_argument("--limit", type=float, default=240, help="seconds after which a league hangs")
    parser.add_argument("--folder", type=Path, default=None, help="where to play (default: a temporary folder)")
    arguments = vars(parser.parse_args())
    folder = arguments.pop("folder") or Path(tempfile.mkdtemp(prefix="killing-"))
    plan = Plan(**{**arguments, "victims": tuple(arguments["victims"].split(","))})
    expected = undisturbed(folder, seed=plan.seed, players=plan.players, referees=plan.referees)
    verdict = kill_at_random(plan, folder, expected, _print)
    for sentence in verdict.complaints:
        _print(f"WRONG: {sentence}")
    _print(f"{verdict.kills} kills in {verdict.seconds:.1f} s, back after {verdict.longest_return:.1f} s at most")
    _print(f"{len(verdict.complaints)} complaints; files in {folder}")
    sys.exit(1 if verdict.complaints else 0)


def _print(sentence: str) -> None:
    sys.stdout.write(sentence + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
