"""A league in terminals: `league manager`, `league referee` and `league player`, each a process of its own.

Starts, kills and starts again; knows nothing of when and why.
"""

import json
import re
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from agent_league.config.home import make_home
from tests.cli.command import LEAGUE, Running, environment
from tests.conftest import BOUND, free_ports
from tests.reliability.thinkers import EVEN, ODD, installed

SETTINGS: dict[str, dict[str, float]] = {
    "timeouts": {"generic_response_timeout_sec": 5, "move_timeout_sec": 10},
    "retry_policy": {"base_delay_sec": 1},
    "circuit_breaker": {"probe_after_sec": 1},
    "heartbeat": {"interval_sec": 0.25, "lease_sec": 1.5, "quiet_sec": 1},
}
"""Times for a league that is over in a minute."""


@dataclass
class Terminal:
    """One agent's terminal: the command that is typed there again after each kill."""

    name: str
    home: Path
    command: list[object]
    env: dict[str, str]
    lives: list[Running] = field(default_factory=list)
    kills: int = 0

    @property
    def is_alive(self) -> bool:
        return bool(self.lives) and self.lives[-1].process.poll() is None

    @property
    def ended_by_itself(self) -> bool:
        return bool(self.lives) and self.lives[-1].process.poll() not in (None, -signal.SIGKILL)

    @property
    def text(self) -> str:
        """What it has printed in all its lives."""
        return "".join(life.text for life in self.lives)

    def start(self) -> None:
        self.lives.append(Running([*LEAGUE, *self.command], env=self.env))

    def kill(self) -> None:
        self.lives[-1].process.kill()
        self.lives[-1].ends()
        self.kills += 1

    def interrupt(self) -> None:
        self.lives[-1].signal(signal.SIGINT)

    def close(self) -> None:
        for life in self.lives:
            life.close()


class Terminals:
    """All agents of a league on one machine. Use it as a context; leaving it ends whatever still runs."""

    def __init__(
        self, folder: Path, *, seed: str, players: int, referees: int, thinking: float, own_homes: bool = False
    ) -> None:
        self._folder = folder
        self._own_homes = own_homes
        port = free_ports(1 + referees + players)
        env = environment(**installed(folder / "installed", thinking))
        shared: list[object] = ["--manager", f"http://localhost:{port}/mcp", "--exit-when-done"]
        self.manager = self._terminal(
            "manager", "manager", ["--port", port, "--players", players, "--referees", referees], env
        )
        self.referees = [
            self._terminal(
                name := f"REF{number:02}",
                "referee",
                ["--port", port + number, "--referee-id", name, "--max-concurrent-matches", 4, "--seed", seed, *shared],
                env,
            )
            for number in range(1, referees + 1)
        ]
        self.players = [
            self._terminal(
                name := f"P{number:02}",
                "player",
                [
                    *("--port", port + referees + number, "--player-id", name, "--name", f"Player {number}"),
                    *("--strategy", EVEN if number % 2 else ODD, *shared),
                ],
                env,
            )
            for number in range(1, players + 1)
        ]
        self.health = f"http://127.0.0.1:{port}/health"

    @property
    def agents(self) -> list[Terminal]:
        return [*self.referees, *self.players]

    @property
    def all(self) -> list[Terminal]:
        return [self.manager, *self.agents]

    @property
    def homes(self) -> list[Path]:
        return sorted({terminal.home for terminal in self.all})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for terminal in self.all:
            terminal.close()

    def end(self) -> None:
        """Ctrl-C wherever something still runs; who doesn't end by that has a strange exit code later."""
        for terminal in self.all:
            if terminal.is_alive:
                terminal.interrupt()
        deadline = time.monotonic() + BOUND
        while time.monotonic() < deadline and any(terminal.is_alive for terminal in self.all):
            time.sleep(0.02)

    def _terminal(self, name: str, role: str, options: list[object], env: dict[str, str]) -> Terminal:
        home = self._folder / (name if self._own_homes else "SHARED")
        set_up(home)
        return Terminal(name, home, [role, *options, "--home", home], env)


def set_up(home: Path) -> None:
    """A SHARED folder with our times and room for everybody in a round."""
    make_home(home)
    path = home / "config" / "system.json"
    system = json.loads(path.read_text(encoding="utf-8"))
    for section, values in SETTINGS.items():
        system[section].update(values)
    path.write_text(json.dumps(system), encoding="utf-8")
    for path in (home / "config" / "leagues").glob("*.json"):
        league = json.loads(path.read_text(encoding="utf-8"))
        league["scheduling"]["matches_per_round"] = None
        path.write_text(json.dumps(league), encoding="utf-8")


def told_matches(player: Terminal) -> set[str]:
    """The matches whose end the player has told in its terminal."""
    return set(re.findall(r"^(R\d+M\d+) against ", player.text, re.MULTILINE))


def json_of(path: Path) -> dict[str, Any]:
    with suppress(OSError):
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found
    return {}
