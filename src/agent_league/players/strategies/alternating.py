"""Plays the legal moves one after the other."""

from agent_league.players.observation import Move, Observation


class Alternating:
    """Goes through the legal moves in turn, game by game."""

    instant = True

    def choose(self, observation: Observation) -> Move:
        played = len(observation.memory.find_history(observation.game_type).my_moves) + observation.rounds_over
        return observation.legal_moves[played % len(observation.legal_moves)]
