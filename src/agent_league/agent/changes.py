"""What has changed, for those who asked to be told: addresses of resources, never their content."""

from collections.abc import Callable

Listener = Callable[[str], None]


class Changes:
    """The changes of one agent. As long as nobody listens, telling costs a look at an empty list."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def __bool__(self) -> bool:
        """Whether anybody listens."""
        return bool(self._listeners)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Calls `listener` with the address of each resource that changes, until the returned function is called."""
        self._listeners.append(listener)

        def leave() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return leave

    def tell(self, *uris: str) -> None:
        """These resources say something new."""
        for listener in tuple(self._listeners):
            for uri in uris:
                listener(uri)
