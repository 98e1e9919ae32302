"""The agent card of a player of ours, and who may ask it over A2A. Imports no SDK: every player serves its card."""

from typing import Any

from agent_league.players.app import PlayerSettings

RPC_PATH = "/a2a"
MOVE_FIELDS = "kind=move_request, match_id, game_type, step, seat, view and legal_moves (or move_schema)"


def build_player_card(settings: PlayerSettings) -> dict[str, Any]:
    """Build the card of a player that is served at its endpoint's root.

    It asks for a bearer token, the match token that a manager gives to referees, unless the player answers anybody.
    """
    root = settings.endpoint.removesuffix("/mcp")
    games = ", ".join(settings.game_types)
    card: dict[str, Any] = {
        "name": settings.display_name,
        "description": f"A player of Agent League. It answers with a legal move; games: {games}.",
        "version": settings.version,
        "supportedInterfaces": [
            {"url": f"{root}{RPC_PATH}", "protocolBinding": "JSONRPC", "protocolVersion": version}
            for version in ("1.0", "0.3")
        ],
        "capabilities": {"streaming": False, "pushNotifications": False},
        "defaultInputModes": ["application/json"],
        "defaultOutputModes": ["application/json", "text/plain"],
        "skills": [
            {
                "id": "move",
                "name": "Choose a move",
                "description": f'Takes a data part with {MOVE_FIELDS}; answers with a data part {{"move": ...}}.',
                "tags": ["games", *settings.game_types],
            }
        ],
    }
    if settings.system.security.verify_callers:
        card["securitySchemes"] = {
            "match_token": {
                "httpAuthSecurityScheme": {
                    "scheme": "Bearer",
                    "description": "The token by which a league's manager gives a match to a referee.",
                }
            }
        }
        card["securityRequirements"] = [{"schemes": {"match_token": {"list": []}}}]
    return card
