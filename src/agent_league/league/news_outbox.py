"""The posts for a league's webhooks that have yet to be delivered, stored until they are.

A post is written with the change that it tells of, so that after a kill it is delivered by the next manager, perhaps a
second time, with the same id. Knows neither addresses nor HTTP.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from agent_league.storage.base import NewsRow, RemovedRow, StoredRow


@dataclass(frozen=True, slots=True)
class NewsPost:
    """One piece of news in the form of one webhook."""

    number: int
    webhook: str
    """The webhook's name."""
    message_id: str
    """The same for all webhooks, and when the post is repeated."""
    event: str
    body: str


class NewsOutbox:
    """The undelivered posts of one season, in the order in which they were added."""

    def __init__(self, save_row: Callable[[StoredRow], None]) -> None:
        self._save_row = save_row
        self._posts: dict[int, NewsPost] = {}
        self._last_number = 0

    def restore_rows(self, rows: Iterable[NewsRow]) -> None:
        """Load the posts that an earlier manager of this season hasn't delivered; in the order of their numbers."""
        for row in rows:
            self._posts[row.number] = NewsPost(row.number, **row.post)
            self._last_number = row.number

    def list_posts(self) -> list[NewsPost]:
        return list(self._posts.values())

    def add_post(self, webhook: str, message_id: str, event: str, body: str) -> NewsPost:
        """Store a post until it is removed."""
        self._last_number += 1
        post = {"webhook": webhook, "message_id": message_id, "event": event, "body": body}
        self._save_row(NewsRow(self._last_number, post))
        self._posts[self._last_number] = NewsPost(self._last_number, **post)
        return self._posts[self._last_number]

    def remove_post(self, post: NewsPost) -> None:
        """Forget a post that was delivered, or is given up."""
        if self._posts.pop(post.number, None):
            self._save_row(RemovedRow(NewsRow, str(post.number)))
