"""Trial of game parameters in a subprocess, before they are used in this process.

Game libraries crash, hang or use up all memory with some parameters, and parameters may come from anybody. Knows no
library: `LibraryRules` is what the rules of every library's games share.
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from typing import Any, ClassVar

from agent_league.games.base import CHANCE, BadParameters, Rules
from agent_league.text import MAX_PHRASE, quote, shorten

SECONDS = 10
MAX_MEMORY_BYTES = 4 << 30
STEPS = 50
MAX_TEXT_LENGTH = 1000
INVALID_PATTERN = re.compile(r"\binvalid\b", re.IGNORECASE)
"""Some libraries only print this on stderr, and go on with undefined values."""
SOURCE_LOCATION = re.compile(r"^\S+\.(cc|h):\d+ ")
"""Where in a library's own source an error was raised."""
TYPE_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


ParameterKey = tuple[tuple[str, Any], ...]
"""Parameters in the order of their names, as a key of caches."""


def make_parameter_key(parameters: Mapping[str, Any]) -> ParameterKey:
    return tuple(sorted(parameters.items()))


class LibraryRules:
    """Rules of one game of a library. With `tried`, parameters get no trial in a subprocess: they are in it."""

    library: ClassVar[str]

    def __init__(self, name: str, *, tried: bool = False) -> None:
        self._name = name
        self._skip_trial = tried

    def try_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Start a game with these parameters in a subprocess; raises BadParameters if that fails."""
        if parameters and not self._skip_trial:
            kind = type(self)
            problem = _run_trial(kind.__module__, kind.__qualname__, self._name, json.dumps(dict(parameters)))
            if problem:
                raise BadParameters(f"{self.library} makes no {self._name} of these: {problem}")


def convert_parameter(name: str, value: Any, own: Any) -> Any:
    """Convert a parameter to the type of the library's default value; raises BadParameters."""
    kind = type(own)
    fits = type(value) is kind or (kind is float and type(value) is int)
    if fits and kind is str:
        fits = len(value) <= MAX_TEXT_LENGTH
    elif fits:
        fits = -(2**31) < value < 2**31
    if not fits:
        raise BadParameters(f"{name} must be {TYPE_NAMES[kind]}, found {quote(value)}")
    return kind(value)


@lru_cache(maxsize=256)
def _run_trial(*words: str) -> str | None:
    """Run this module with these arguments, and describe how it failed; None if it didn't."""
    command = [sys.executable, "-P", "-W", "ignore", "-m", __name__, *words]
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=SECONDS, check=False)  # noqa: S603 - ourselves
    except subprocess.TimeoutExpired:
        return f"no game begins within {SECONDS} seconds"
    told, aside = (text.decode(errors="replace").strip() for text in (done.stdout, done.stderr))
    invalid = next((line for line in aside.splitlines() if INVALID_PATTERN.search(line)), None)
    if invalid or done.returncode == 0:
        return invalid and shorten(SOURCE_LOCATION.sub("", invalid), MAX_PHRASE)
    if done.returncode < 0:
        return f"the library breaks down with signal {-done.returncode}"
    return shorten(SOURCE_LOCATION.sub("", (told or aside).splitlines()[-1]), MAX_PHRASE)


def play_first_steps(rules: Rules, parameters: Mapping[str, Any]) -> None:
    """Play the first 50 steps of a game; raises whatever the rules raise."""
    state = rules.new(parameters)
    for step in range(STEPS):
        moves = {}
        for seat in rules.actors(state):
            legal = rules.legal(state, seat)
            if not legal:
                raise ValueError(f"seat {seat} has no move")
            one = legal[step % len(legal)]
            moves[seat] = one[0] if seat == CHANCE else one
        for seat in (0, 1):
            rules.view(state, seat)
        if not moves:
            rules.returns(state)
            return
        state = rules.apply(state, moves)


def main(module: str, qualname: str, name: str, parameters: str) -> int:
    """Try parameters (JSON) with the rules class `module.qualname`, with limited memory; print what it raises."""
    with suppress(ImportError):  # a system without such limits
        resource: Any = import_module("resource")
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    rules = getattr(import_module(module), qualname)(name, tried=True)
    try:
        play_first_steps(rules, json.loads(parameters))
    except Exception as error:  # noqa: BLE001 - the command ends here
        print(" ".join(str(error).split()) or type(error).__name__)  # noqa: T201 - what the parent reads
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
