"""OpenSpiel's games for two, under the names `openspiel:NAME`. The library is imported on first use."""

from typing import Any

from agent_league.games.openspiel.rules import PLAYER_COUNT_PARAMETERS, OpenSpielRules, load_game_kinds, load_library
from agent_league.games.registry import Game, LibraryGames

HOW_TO_PLAY = """\
{long_name}, as the library OpenSpiel plays it: {dynamics}, and {information}.

A move is what OpenSpiel calls it, exactly as it stands among the legal moves; where two of them are called the same \
it is the action's number.{chance} The view has {view}. {end}

OpenSpiel tells the rules of its games in its documentation, under `{name}`. {parameters}
"""


DYNAMICS = {"SEQUENTIAL": "the players move by turns", "SIMULTANEOUS": "both move at the same time"}
INFORMATION = {
    "PERFECT_INFORMATION": "nothing is hidden",
    "IMPERFECT_INFORMATION": "not everything is seen by both",
    "ONE_SHOT": "each only once",
}


MORE_WINS = "You win if you get more than your opponent"
UTILITIES = {
    "ZERO_SUM": f"{MORE_WINS}: what one gains the other loses.",
    "CONSTANT_SUM": f"{MORE_WINS}: both share what is always the same in all.",
    "GENERAL_SUM": f"{MORE_WINS}; both may gain, and both may lose.",
    "IDENTICAL": "Both always get the same, as much as you reach together, and no match is won.",
}


class OpenSpielGames(LibraryGames):
    """OpenSpiel's games for two players that can be replayed from a log."""

    name = "openspiel"
    library = "OpenSpiel"

    def list_all(self) -> dict[str, Any]:
        return load_game_kinds()

    def find_obstacle(self, name: str) -> str | None:
        kind = load_game_kinds()[name]
        known, own = load_library().GameType, kind.parameter_specification
        if kind.dynamics == known.Dynamics.MEAN_FIELD:
            return "is a game of a whole population (mean field)"
        if not kind.default_loadable:
            return "is made out of another game, or of a file"
        if kind.chance_mode == known.ChanceMode.SAMPLED_STOCHASTIC:
            return "draws random numbers of its own, so that no match could be checked"
        least, most = kind.min_num_players, kind.max_num_players
        usual = next((own[name] for name in PLAYER_COUNT_PARAMETERS if name in own), least)
        if not least <= 2 <= most or usual == 1:
            return f"is played by {least if least == most else f'{least} to {most}'}, and as it stands not by two"
        if not (kind.provides_information_state_string or kind.provides_observation_string):
            return "doesn't tell what a player sees"
        return None

    def make_game(self, name: str) -> Game:
        kind, rules = load_game_kinds()[name], OpenSpielRules(name)
        words = _describe_rules(kind, shows_all=rules.perfect_information)
        return Game(
            *(f"{self.name}:{name}", rules),
            title=kind.long_name,
            how_to_play=words,
            goals=_tell_goals(kind),
            payoffs=True,
        )


SOURCE = OpenSpielGames()


def _describe_rules(kind: Any, *, shows_all: bool) -> str:
    known, own = load_library().GameType, kind.parameter_specification
    told = ", ".join(
        f"{name} ({value!r})" for name, value in sorted(own.items()) if name not in PLAYER_COUNT_PARAMETERS
    )
    return HOW_TO_PLAY.format(
        name=kind.short_name,
        long_name=kind.long_name,
        dynamics=DYNAMICS[kind.dynamics.name],
        information=INFORMATION[kind.information.name],
        chance="" if kind.chance_mode == known.ChanceMode.DETERMINISTIC else " Dice and cards are the referee's draw.",
        view=_describe_view(kind, shows_all=shows_all),
        end="Both always get the same, so that every match is a draw."
        if kind.utility == known.Utility.IDENTICAL
        else "Who gets more in the end wins.",
        parameters=f"Its parameters: {told}." if told else "It has no parameters.",
    )


def _tell_goals(kind: Any) -> tuple[str, str]:
    """Tell each seat which player of OpenSpiel's it is, and what wins for it."""
    own = "is added up over the game" if kind.reward_model.name == "REWARDS" else "is told when the game is over"
    goal = f"{UTILITIES[kind.utility.name]} What each gets {own}."
    first, second = (f"In OpenSpiel's words you are player {seat}. {goal}" for seat in (0, 1))
    return first, second


def _describe_view(kind: Any, *, shows_all: bool) -> str:
    if shows_all:
        return "`board`, the position as text, and `actions`, the numbers of all actions so far"
    field = "information_state" if kind.provides_information_state_string else "observation"
    table = kind.information == load_library().GameType.Information.ONE_SHOT
    payoffs = ", and `payoffs`, what each pair of moves pays" if table else ""
    return f"`{field}`, OpenSpiel's words for what you know{payoffs}"
