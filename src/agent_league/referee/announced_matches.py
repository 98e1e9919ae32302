"""START_MATCH from a ROUND_ANNOUNCEMENT, for managers that start matches by announcing them."""

from agent_league.protocol import v2
from agent_league.protocol.v2.league import AnnouncedMatch


def build_start_match(announcement: v2.RoundAnnouncement, match: AnnouncedMatch) -> v2.StartMatch:
    """Build the START_MATCH for one match of an announcement; addresses that it lacks are left empty."""
    players = {
        f"player_{side}": {"player_id": player_id, "display_name": player_id, "endpoint": endpoint or ""}
        for side, player_id, endpoint in (
            ("A", match.player_A_id, match.player_A_endpoint),
            ("B", match.player_B_id, match.player_B_endpoint),
        )
    }
    return v2.StartMatch.write(
        sender=announcement.sender,
        timestamp=announcement.timestamp,
        conversation_id=f"conv-{match.match_id.lower()}-001",
        league_id=announcement.league_id or "league",
        round_id=announcement.round_id,
        match_id=match.match_id,
        game_type=match.game_type,
        match_token=match.match_token,
        **players,
    )
