"""A manager under check, and the checker's own referees and players that register with it."""

from collections.abc import Callable, Mapping
from typing import Any

from agent_league.check.fields import get_field
from agent_league.check.http_probe import HttpProbe
from agent_league.check.scripted_agents import CheckerManager, CheckerPlayer, CheckerReferee
from agent_league.check.steps import SkipStep
from agent_league.check.subject import CheckOptions, Exchange, Subject, ValidCall
from agent_league.model.agents import Role
from agent_league.protocol import v2
from agent_league.protocol.tokens import SigningKey

REFUSED_REGISTRATIONS = 9
"""Number of registrations that must be refused; a manager that accepts them has that many more players."""
MAX_PLAYERS = 12 + REFUSED_REGISTRATIONS
REFEREE_COUNT = 2
LEAGUE_USED_UP = "The manager's league was used up by the check: its players and referees were the checker's own."
RESTART_MANAGER = (
    "Players and referees of the checker's own are registered with the manager now, and nobody plays for them: "
    "start the manager anew before you play."
)


class ManagerSubject(Subject):
    """A manager under check, its league, and the agents that register with it."""

    role = Role.LEAGUE_MANAGER

    def __init__(
        self, probe: HttpProbe, options: CheckOptions, key: SigningKey, manager: CheckerManager | None
    ) -> None:
        super().__init__(probe, options, key, None)
        self.players = [CheckerPlayer(f"checker-{number}") for number in range(1, MAX_PLAYERS + 1)]
        self.referees = [CheckerReferee(f"checker-{number}") for number in range(1, REFEREE_COUNT + 1)]
        self.servers = (*self.players, *self.referees)
        self.accepted_players: list[CheckerPlayer] = []
        self.player_ids: list[str] = []
        """The ids of all players; a player that got a second id counts twice."""
        self.is_started = False
        self.results: dict[str, tuple[int, dict[str, int], str | None]] = {}
        """Match id -> round, points of both players and winner, as reported."""
        self.starts_by_announcement = False
        """Whether the manager starts matches by ROUND_ANNOUNCEMENT, without START_MATCH."""
        self._league_id = ""
        self._refused_count = 0

    @property
    def league_id(self) -> str:
        return self._league_id

    @property
    def remarks(self) -> tuple[str, ...]:
        if self.is_started:
            return (LEAGUE_USED_UP,)
        registered = bool(self.accepted_players) or any(referee.token for referee in self.referees)
        return (RESTART_MANAGER,) if registered else ()

    @property
    def unjudged_reason(self) -> str:
        if self.is_started:
            return ""
        if not self.accepted_players:
            return "no league was played, because it admitted no player"
        return (
            "no league was played, because it did not start: give --admin-token-file, or let the manager start its "
            f"league with {len(self.player_ids)} players or fewer"
        )

    @property
    def has_public_key(self) -> bool:
        """Whether the manager sends its public key in answers to registrations, as ours does."""
        answers = [exchange.answer or {} for name, exchange in self.exchanges.items() if name.startswith("register_")]
        return any(isinstance(answer.get("public_key"), str) for answer in answers)

    async def send_first_call(self) -> Exchange:
        return self.store_exchange("register_referee", await self.register_referee(self.referees[0]))

    @property
    def querying_player(self) -> CheckerPlayer:
        """A registered player in whose name queries are sent; skips the step if there is none."""
        if not self.accepted_players:
            raise SkipStep("no player was admitted")
        return self.accepted_players[0]

    def make_valid_call(self) -> ValidCall:
        if not self.accepted_players:
            return ValidCall(
                "register_referee", self.write_referee_request(self.referees[0]), "REFEREE_REGISTER_RESPONSE"
            )
        return ValidCall("league_query", self.write_query(), "LEAGUE_QUERY_RESPONSE")

    def is_valid_answer(self, exchange: Exchange) -> bool:
        return exchange.answer is not None or exchange.is_acknowledged

    def write_query(self, query_type: str = "GET_STANDINGS", **more: Any) -> dict[str, Any]:
        asker = self.querying_player
        envelope = self.make_envelope(f"player:{asker.player_id}", "conv-query-001")
        fields: dict[str, Any] = {"auth_token": asker.token, "league_id": self.league_id, "query_params": {}}
        query = v2.LeagueQuery.write(**envelope, query_type="GET_STANDINGS", **fields).to_wire()
        return {**query, "query_type": query_type, **more}

    def write_player_request(self, player: CheckerPlayer, name: str | None = None) -> dict[str, Any]:
        return v2.LeagueRegisterRequest.write(
            **self.make_envelope(f"player:{player.player_id}", f"conv-{player.player_id.lower()}-reg-001"),
            player_meta=_make_agent_meta(f"Checked {name or player.name}", player.endpoint),
        ).to_wire()

    def write_referee_request(self, referee: CheckerReferee) -> dict[str, Any]:
        return v2.RefereeRegisterRequest.write(
            **self.make_envelope(f"referee:{referee.name}", f"conv-{referee.name}-reg-001"),
            referee_meta={
                **_make_agent_meta(f"Referee {referee.name}", referee.endpoint),
                "max_concurrent_matches": 10,
            },
        ).to_wire()

    async def register_player(self, player: CheckerPlayer) -> Exchange:
        """Register a player and store the id and token that it gets."""
        kind = "LEAGUE_REGISTER_RESPONSE"
        exchange = await self.ask_in_any_form("register_player", self.write_player_request(player), kind)
        self.store_registration(player, exchange)
        return exchange

    async def send_bad_registration(self, write: "RegistrationWriter") -> Exchange:
        """Send a registration that must be refused; if the manager accepts it, the player takes part in the league."""
        self._refused_count += 1
        player = self.players[-self._refused_count]
        exchange = await self.ask("register_player", write(self, player), wanted="LEAGUE_REGISTER_RESPONSE")
        self.store_registration(player, exchange)
        return exchange

    def store_registration(self, player: CheckerPlayer, exchange: Exchange) -> None:
        answer = exchange.answer or {}
        if answer.get("status") == "ACCEPTED" and isinstance(answer.get("player_id"), str):
            player.player_id, player.token = answer["player_id"], str(answer.get("auth_token"))
            self._league_id = self._league_id or str(answer.get("league_id") or "")
            self.accepted_players.append(player)
            self.player_ids.append(player.player_id)

    async def register_referee(self, referee: CheckerReferee) -> Exchange:
        kind = "REFEREE_REGISTER_RESPONSE"
        if referee.token:
            return self.exchanges["register_referee"]
        exchange = await self.ask_in_any_form("register_referee", self.write_referee_request(referee), kind)
        answer = exchange.answer or {}
        if answer.get("status") == "ACCEPTED" and isinstance(answer.get("referee_id"), str):
            referee.referee_id, referee.token = answer["referee_id"], str(answer.get("auth_token"))
        return exchange

    def write_order_report(
        self, referee: CheckerReferee, match_id: str, winner: str | None, **more: Any
    ) -> dict[str, Any]:
        """Write the report of an assigned match, in the name of its referee."""
        order = referee.orders[match_id]
        return {**self.write_report(referee, match_id, get_player_ids(order), order.get("round_id"), winner), **more}

    def write_report(
        self, referee: CheckerReferee, match_id: str, players: tuple[str, str], round_id: Any, winner: str | None
    ) -> dict[str, Any]:
        """Write a report whose details agree with its winner, because a league may judge by the details."""
        a, b = players
        drawn = 7 if winner == b else 8
        return v2.MatchResultReport.write(
            **self.make_envelope(f"referee:{referee.referee_id}", f"conv-{match_id.lower()}-report"),
            auth_token=referee.token,
            league_id=self.league_id,
            round_id=round_id if isinstance(round_id, int) else 1,
            match_id=match_id,
            game_type="even_odd",
            result={
                "winner": winner,
                "score": {player: 1 if winner is None else 3 * (player == winner) for player in players},
                "details": {"drawn_number": drawn, "choices": {a: "even", b: "even" if winner is None else "odd"}},
                "status": "DRAW" if winner is None else "WIN",
            },
        ).to_wire()

    async def send_report(self, referee: CheckerReferee, match_id: str, winner: str | None) -> Exchange:
        report = self.write_order_report(referee, match_id, winner)
        exchange = await self.ask_in_any_form("report_match_result", report, None)
        if exchange.is_acknowledged:
            referee.reported_ids.add(match_id)
            score = report["result"]["score"]
            self.results[match_id] = (int(report["round_id"] or 0), score, winner)
        return exchange

    def write_start_league(self, admin_token: str) -> dict[str, Any]:
        return v2.StartLeague.write(
            **self.make_envelope("league_manager", "conv-start-league"),
            auth_token=admin_token,
            league_id=self.league_id,
        ).to_wire()

    def find_open_match(self) -> tuple[CheckerReferee, str] | None:
        """Return a match that was assigned to a referee and not reported yet, or None."""
        for referee in self.referees:
            if self.starts_by_announcement:
                referee.orders |= {
                    name: order for name, order in referee.announced_matches.items() if name not in referee.orders
                }
            for match_id in referee.orders:
                if match_id not in self.results:
                    return referee, match_id
        return None

    def list_unregistered_players(self) -> list[CheckerPlayer]:
        """List the players that have not registered yet, without those for refused registrations."""
        return [player for player in self.players[:-REFUSED_REGISTRATIONS] if player not in self.accepted_players]

    def require_started(self) -> None:
        if not self.is_started:
            raise SkipStep("the league did not start, so this can't be seen")


RegistrationWriter = Callable[[ManagerSubject, CheckerPlayer], Mapping[str, Any]]
"""Writes the registration of a player."""


def _make_agent_meta(name: str, endpoint: str) -> dict[str, Any]:
    return {"display_name": name, "version": "1.0.0", "game_types": ["even_odd"], "contact_endpoint": endpoint}


def get_player_ids(order: Mapping[str, Any]) -> tuple[str, str]:
    """Return the ids of both players of a START_MATCH, from its objects or its flat fields."""
    a, b = (
        str(get_field(order, f"{side}.player_id") if isinstance(order.get(side), dict) else order.get(f"{side}_id"))
        for side in ("player_A", "player_B")
    )
    return a, b
