"""The rules of any PettingZoo environment for two agents, over a state that is its seed and the actions so far.

The seed is drawn digit by digit, as chance is the referee's. An environment can't be copied, so the one of a match is
stepped along with it; for an earlier state a new one is replayed from the start.
"""

import inspect
import math
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from agent_league.games.base import CHANCE, REPEAT_PARAMETERS, BadParameters, Move, State, check_parameter_names
from agent_league.games.parameter_trial import (
    TYPE_NAMES,
    LibraryRules,
    ParameterKey,
    convert_parameter,
    make_parameter_key,
)
from agent_league.text import quote

DIGITS, BASE = 4, 256
"""Digits of the seed and their base; the last bit is dropped, as some environments take 31 bits."""
MAX_RUNS = 64
MAX_NUMBERS = 20_000
"""Numbers in an observation; a view with more doesn't fit into a message."""
DISPLAY_PARAMETERS = ("render_mode", "screen_height", "screen_width", "screen_scaling")

TWO_AGENT_PARAMETERS = {"knights_archers_zombies": {"num_archers": 1, "num_knights": 1}}
"""Parameters that make an environment for two of one that has more agents by default."""


def load_library() -> Any:
    """Import PettingZoo; raises ImportError."""
    return import_module("pettingzoo")


def list_env_ids() -> dict[str, str]:
    """The newest version of each environment, by its bare name; raises ImportError."""
    specs = sorted(load_library().aec_registry.values(), key=lambda spec: spec.version or 0)
    return {spec.name: spec.id for spec in specs}


def make_environment(name: str, parameters: dict[str, Any]) -> Any:
    """Create an environment for two; warnings of its libraries are suppressed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_library().make("aec", list_env_ids()[name], **(TWO_AGENT_PARAMETERS.get(name, {}) | parameters))


def find_obstacle(env: Any) -> str | None:
    """Describe why an environment can't be played in a league; None if it can."""
    agents = env.possible_agents
    if len(agents) != 2:
        return f"has {len(agents)} agents, and a match has two players"
    for agent in agents:
        actions, seen = env.action_space(agent), env.observation_space(agent)
        if type(actions).__name__ != "Discrete":
            return f"has actions that are no numbered choices: {quote(actions)}"
        seen = seen["observation"] if type(seen).__name__ == "Dict" else seen
        if math.prod(seen.shape) > MAX_NUMBERS:
            return f"shows {math.prod(seen.shape)} numbers at a time, more than the {MAX_NUMBERS} that fit a message"
    return None


class EnvironmentRun:
    """One environment, stepped to some state."""

    def __init__(self, env: Any, seed: int) -> None:
        self._env = env
        self._agents = list(env.possible_agents)
        self._observed: dict[int, Any] = {}
        self._finished_seats: set[int] = set()
        self.scores = [0.0, 0.0]
        env.reset(seed=seed)

    def actors(self) -> tuple[int, ...]:
        return (self._agents.index(self._env.agent_selection),) if self._env.agents else ()

    def legal_actions(self, seat: int) -> list[int]:
        actions, seen = self._env.action_space(self._agents[seat]), self._observe(seat)
        first = int(actions.start)
        mask = seen.get("action_mask") if isinstance(seen, Mapping) else None
        if mask is None:
            return list(range(first, first + int(actions.n)))
        return [first + index for index, allowed in enumerate(mask.tolist()) if allowed]

    def observed_numbers(self, seat: int) -> Any:
        """The numbers that an agent observes; once it is terminated, those that it saw last."""
        found = self._observe(seat)
        found = found["observation"] if isinstance(found, Mapping) else found
        if str(getattr(found, "dtype", "")) == "bool":
            found = found.astype("uint8")
        return found.tolist() if hasattr(found, "tolist") else found

    def step(self, action: int) -> None:
        env = self._env
        env.step(action)
        self._observed = {seat: seen for seat, seen in self._observed.items() if seat in self._finished_seats}
        for seat, agent in enumerate(self._agents):
            self.scores[seat] += float(env.rewards.get(agent, 0))
            if env.terminations.get(agent) or env.truncations.get(agent):
                self._observe(seat)
                self._finished_seats.add(seat)
        while env.agents and (env.terminations[env.agent_selection] or env.truncations[env.agent_selection]):
            env.step(None)

    def _observe(self, seat: int) -> Any:
        if seat not in self._observed:
            self._observed[seat] = self._env.observe(self._agents[seat])
        return self._observed[seat]


class PettingZooRules(LibraryRules):
    """The rules of one PettingZoo environment."""

    library = "PettingZoo"
    public_moves = False
    """In some environments, agents choose one after the other what counts as chosen at the same time."""

    def __init__(self, name: str, *, tried: bool = False) -> None:
        super().__init__(name, tried=tried)
        self._runs: dict[tuple[ParameterKey, tuple[int, ...], tuple[int, ...]], EnvironmentRun] = {}
        self._checked_parameters: set[ParameterKey] = set()
        self._default_parameters: dict[str, Any] | None = None

    def new(self, config: Mapping[str, Any]) -> State:
        parameters = self._read_parameters(config)
        if make_parameter_key(parameters) not in self._checked_parameters:
            self._check_parameters(parameters)
            self._checked_parameters.add(make_parameter_key(parameters))
        return {"parameters": parameters, "seed": [], "actions": []}

    def actors(self, state: State) -> tuple[int, ...]:
        return (CHANCE,) if _is_drawing_seed(state) else self._find_run(state).actors()

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        if _is_drawing_seed(state):
            return [(digit, 1) for digit in range(BASE)]
        return self._find_run(state).legal_actions(seat) if seat in self.actors(state) else []

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        ((_, move),) = moves.items()
        field = "seed" if _is_drawing_seed(state) else "actions"
        return {**state, field: [*state[field], move]}

    def view(self, state: State, seat: int | None) -> Any:
        """Return the agent's observation as lists of numbers."""
        if seat is None:
            return state
        return {"observation": None if _is_drawing_seed(state) else self._find_run(state).observed_numbers(seat)}

    def returns(self, state: State) -> tuple[float, float]:
        """Return the sum of each agent's rewards."""
        a, b = self._find_run(state).scores
        return (a, b)

    def _read_parameters(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Read the parameters in the types of the environment's defaults; raises BadParameters."""
        if self._default_parameters is None:
            signature = inspect.signature(type(make_environment(self._name, {}).unwrapped))
            found = {name: parameter.default for name, parameter in signature.parameters.items()}
            self._default_parameters = {
                name: own for name, own in found.items() if type(own) in TYPE_NAMES and name not in DISPLAY_PARAMETERS
            }
        check_parameter_names(config, *self._default_parameters)
        given = set(config).difference(REPEAT_PARAMETERS)
        return {name: convert_parameter(name, config[name], self._default_parameters[name]) for name in sorted(given)}

    def _check_parameters(self, parameters: dict[str, Any]) -> None:
        """Raise BadParameters for parameters that make no environment for two."""
        self.try_parameters(parameters)
        problem = find_obstacle(make_environment(self._name, parameters))
        if problem:
            raise BadParameters(f"it {problem}")

    def _find_run(self, state: State) -> EnvironmentRun:
        """Return the environment in this state, stepped from the previous one if that is cached, else replayed."""
        parameters, seed, actions = (
            make_parameter_key(state["parameters"]),
            tuple(state["seed"]),
            tuple(state["actions"]),
        )
        life = self._runs.get((parameters, seed, actions))
        if life is None:
            life = self._runs.pop((parameters, seed, actions[:-1]), None) if actions else None
            if life:
                life.step(actions[-1])
            else:
                life = EnvironmentRun(make_environment(self._name, state["parameters"]), int.from_bytes(seed) >> 1)
                for action in actions:
                    life.step(action)
            if len(self._runs) >= MAX_RUNS:
                self._runs.clear()
            self._runs[parameters, seed, actions] = life
        return life


def _is_drawing_seed(state: State) -> bool:
    return len(state["seed"]) < DIGITS
