"""A match of the schedule as pages, terminal, export and MCP show it: made in one place, whatever the form."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent_league.model.agents import AgentProfile
from agent_league.model.result_words import (
    ResultLabel,
    describe_ending,
    describe_failures,
    describe_fault,
    label_result,
)
from agent_league.model.results import MatchResult, Scoring
from agent_league.model.schedule import Pairing


@dataclass(frozen=True, slots=True)
class MatchView:
    """A scheduled match with its referee and result, if it has them."""

    game_type: str
    pairing: Pairing
    referee_id: str | None
    result: MatchResult | None
    scoring: Scoring
    agents: Mapping[str, AgentProfile]
    """The league's players, by id."""

    @property
    def match_id(self) -> str:
        return self.pairing.match_id

    @property
    def names(self) -> dict[str, str]:
        """The names of both players, by id."""
        known = self.agents
        return {one: known[one].display_name if one in known else one for one in self.pairing.players}

    @property
    def is_finished(self) -> bool:
        return self.result is not None

    @property
    def is_playing(self) -> bool:
        return self.result is None and self.referee_id is not None

    @property
    def winner(self) -> str | None:
        return self.result.winner if self.result else None

    @property
    def points(self) -> dict[str, int]:
        """The points of both players; empty before the end."""
        return self.result.score(self.scoring) if self.result else {}

    @property
    def terminations(self) -> dict[str, str]:
        """How the match ended for both players; empty before the end."""
        return self.result.termination_names if self.result else {}

    @property
    def ending(self) -> str:
        """How it ended, in a sentence without a full stop; empty before the end."""
        return describe_ending(self.result, self.names) if self.result else ""

    @property
    def fault(self) -> str:
        """Who failed and how, or why it was aborted; empty for a match that ended normally."""
        return describe_fault(self.result, self.names) if self.result else ""

    @property
    def failures(self) -> dict[str, str]:
        """The fault of each player of a technical loss, by player."""
        return describe_failures(self.result) if self.result else {}

    def label(self, player_id: str) -> ResultLabel:
        return label_result(self.result, player_id, is_playing=self.referee_id is not None)

    def opponent_of(self, player_id: str) -> str:
        first, second = self.pairing.players
        return second if player_id == first else first

    def to_json(self) -> dict[str, Any]:
        """The match as answers to queries list it."""
        return {
            "match_id": self.match_id,
            "round_id": self.pairing.round_id,
            "game_type": self.game_type,
            "player_A_id": self.pairing.player_a,
            "player_B_id": self.pairing.player_b,
            "referee_id": self.referee_id,
            "status": self.result.status if self.result else "PENDING",
            "winner_player_id": self.winner,
        }
