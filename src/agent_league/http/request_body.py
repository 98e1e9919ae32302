"""The body of a request, for ASGI applications that need it whole; knows nothing of what is in it."""

from starlette.types import Message, Receive

from agent_league.http.carrier import RequestRejected


async def read_body(receive: Receive, limit: int) -> bytes:
    """Read a body to its end; raises RequestRejected if it is over `limit` bytes, or ends early."""
    body, more = bytearray(), True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise RequestRejected(400, "the request ended before its body did")
        body += event.get("body", b"")
        more = event.get("more_body", False)
        if len(body) > limit:
            raise RequestRejected(413, f"the body is over {limit} bytes")
    return bytes(body)


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Let somebody else receive a body that was read already."""
    return replay_event({"type": "http.request", "body": body, "more_body": False}, receive)


def replay_event(event: Message, receive: Receive) -> Receive:
    """Give an event that was received already to the next who asks, and then what comes."""
    events = [event]

    async def receive_again() -> Message:
        return events.pop() if events else await receive()

    return receive_again
