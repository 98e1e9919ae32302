"""Notifies listeners of changed resources: their URIs, never their content."""

from collections.abc import Callable

ChangeListener = Callable[[str], None]


class ResourceChanges:
    """The listeners for changes of one agent's resources; notifying is almost free without any."""

    def __init__(self) -> None:
        self._listeners: list[ChangeListener] = []

    def __bool__(self) -> bool:
        """Whether there is a listener."""
        return bool(self._listeners)

    def add_listener(self, listener: ChangeListener) -> Callable[[], None]:
        """Call `listener` with the URI of each changed resource, until the returned function is called."""
        self._listeners.append(listener)

        def leave() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return leave

    def notify_changed(self, *uris: str) -> None:
        """Notify all listeners that these resources have changed."""
        for listener in tuple(self._listeners):
            for uri in uris:
                listener(uri)
