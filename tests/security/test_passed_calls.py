"""Attacks on the internal listener: nothing is carried out that a server of ours hasn't signed, just so, just now."""

import asyncio
import base64
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send

from agent_league.http.server import HttpServer
from agent_league.serve import passed_call
from agent_league.serve.internal_app import SERVERS_ONLY, InternalApp
from agent_league.serve.passed_call import (
    MAX_AGE_SECONDS,
    NOT_OWNER_STATUS,
    PASSED_HEADER,
    BadSignature,
    CallSigner,
    CallVerifier,
    PassedCall,
    PassedCaller,
)
from tests.conftest import BOUND
from tests.serve.passing_stage import KEY, LEAGUE, FakeServer, two_servers

CALLER = PassedCaller(("203.0.113.7", 4242), ("198.51.100.1", 80), "play.example")
CALL = PassedCall("POST", f"/leagues/{LEAGUE}/mcp?a=1".encode(), ((b"authorization", b"Bearer mine"),), b'{"id": 1}')
SIGNATURE = PASSED_HEADER + b": "


class CountingLeague:
    """A league that notes who calls it."""

    def __init__(self) -> None:
        self.callers: list[tuple[str, int]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.callers.append(scope["client"])
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is sent to an internal listener."""

    call: PassedCall = CALL
    signatures: tuple[bytes, ...] = ()


def sign(key: bytes = KEY, to: str = "owner", at: float | None = None, caller: PassedCaller = CALLER) -> bytes:
    return CallSigner(key, lambda: time.time() if at is None else at).sign(CALL, caller, to)


def forge_caller(signature: bytes) -> bytes:
    """Put another address into a signed header and leave its HMAC as it is."""
    content, _, mac = signature.partition(b".")
    told = {**json.loads(base64.urlsafe_b64decode(content)), "client": ["127.0.0.1", 1]}
    return base64.urlsafe_b64encode(json.dumps(told).encode()) + b"." + mac


ATTACKS: dict[str, Callable[[], Attempt]] = {
    "no signature": Attempt,
    "an empty one": lambda: Attempt(signatures=(b"",)),
    "no base64": lambda: Attempt(signatures=(b"%%%.%%%",)),
    "a guess": lambda: Attempt(signatures=(sign().partition(b".")[0] + b"." + b"0" * 64,)),
    "another key": lambda: Attempt(signatures=(sign(key=b"another key"),)),
    "an empty key": lambda: Attempt(signatures=(sign(key=b""),)),
    "expired": lambda: Attempt(signatures=(sign(at=time.time() - MAX_AGE_SECONDS - 5),)),
    "from the future": lambda: Attempt(signatures=(sign(at=time.time() + MAX_AGE_SECONDS + 5),)),
    "another address": lambda: Attempt(signatures=(forge_caller(sign()),)),
    "two of them": lambda: Attempt(signatures=(sign(), sign())),
    "another body": lambda: Attempt(replace(CALL, body=b'{"id": 2}'), (sign(),)),
    "another path": lambda: Attempt(replace(CALL, target=f"/leagues/{LEAGUE}/mcp?a=2".encode()), (sign(),)),
    "another method": lambda: Attempt(replace(CALL, method="PUT"), (sign(),)),
    "another token": lambda: Attempt(replace(CALL, headers=((b"authorization", b"Bearer yours"),)), (sign(),)),
    "another header": lambda: Attempt(replace(CALL, headers=(*CALL.headers, (b"cookie", b"a=b"))), (sign(),)),
}


async def send(address: str, attempt: Attempt) -> tuple[int, str]:
    """Send a request byte by byte as it is; returns status and body."""
    host, port = address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    call = attempt.call
    headers = b"".join(b"%b: %b\r\n" % header for header in call.headers)
    signatures = b"".join(SIGNATURE + each + b"\r\n" for each in attempt.signatures)
    head = b"%b %b HTTP/1.1\r\nhost: x\r\nconnection: close\r\n" % (call.method.encode(), call.target)
    writer.write(head + headers + signatures + b"content-length: %d\r\n\r\n" % len(call.body) + call.body)
    answer = (await reader.read()).decode()
    writer.close()
    return int(answer.split()[1]), answer.partition("\r\n\r\n")[2]


async def test_only_what_a_server_has_signed_is_carried_out_and_that_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    league = CountingLeague()
    async with asyncio.timeout(BOUND), two_servers(tmp_path, league) as stage:
        inside = stage.owner.row.address
        for name, attack in ATTACKS.items():
            assert await send(inside, attack()) == (403, SERVERS_ONLY), name
        meant_for_another = Attempt(signatures=(sign(to="entry"),))
        assert (await send(inside, meant_for_another))[0] == 421, "passed by a look that is older than our restart"
        with monkeypatch.context() as patched:
            patched.setattr(passed_call, "PASSING_PROTOCOL", passed_call.PASSING_PROTOCOL + 1)
            of_another_version = Attempt(signatures=(sign(),))
        assert (await send(inside, of_another_version))[0] == 421, "nothing is done, and the caller may try again"
        assert league.callers == []
        good = Attempt(signatures=(sign(),))
        assert (await send(inside, good))[0] == 200
        assert league.callers == [("203.0.113.7", 4242)], "the caller's address is the signed one"
        assert (await send(inside, good))[0] == 403, "replayed"
        assert len(league.callers) == 1


async def test_the_header_from_outside_is_dropped(tmp_path: Path) -> None:
    """A caller who somehow has a good signature for the entry or the owner gains nothing by it at the public port."""
    league = CountingLeague()
    async with asyncio.timeout(BOUND), two_servers(tmp_path, league) as stage:
        for server in (stage.entry, stage.owner):
            for to in ("entry", "owner"):
                attempt = Attempt(signatures=(sign(to=to),))
                assert (await send(f"http://127.0.0.1:{server.public.port}", attempt))[0] == 200
        assert {host for host, _ in league.callers} == {"127.0.0.1"}


async def test_a_passed_call_is_never_passed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    league = CountingLeague()
    async with asyncio.timeout(BOUND), two_servers(tmp_path, league) as stage:
        stage.entry.leagues[LEAGUE] = stage.owner.leagues.pop(LEAGUE)
        stage.let_own(stage.entry)  # so the call comes to the wrong server, which knows the right one
        monkeypatch.setattr(stage.owner.passer, "pass_on", None)
        status, _ = await send(stage.owner.row.address, Attempt(signatures=(sign(),)))
        assert (status, league.callers) == (NOT_OWNER_STATUS, [])


async def test_a_server_for_its_own_machine_alone_takes_nothing_from_one_that_strangers_reach(tmp_path: Path) -> None:
    league = CountingLeague()
    async with asyncio.timeout(BOUND), two_servers(tmp_path, league) as stage:
        verifier = CallVerifier(KEY, lambda: "owner", time.time)
        closed = InternalApp(stage.owner, verifier, stage.owner.log, is_loopback_only=True)
        listener = HttpServer(closed, "127.0.0.1", 0, "a test")
        await listener.start()
        try:
            for is_exposed, status in ((True, 403), (False, 200)):
                attempt = Attempt(signatures=(sign(caller=replace(CALLER, is_exposed=is_exposed)),))
                assert (await send(f"http://127.0.0.1:{listener.port}", attempt))[0] == status
        finally:
            await listener.stop()
        assert len(league.callers) == 1


async def test_a_websocket_can_not_be_opened_without_a_signature(tmp_path: Path) -> None:
    league = CountingLeague()
    async with asyncio.timeout(BOUND), two_servers(tmp_path, league) as stage:
        upgrade = ((b"upgrade", b"websocket"), (b"sec-websocket-key", b"x3JJHMbDL1EzLkh9GBhXDw=="))
        headers = (*upgrade, (b"sec-websocket-version", b"13"))
        opening = PassedCall("GET", f"/leagues/{LEAGUE}/dial".encode(), headers)
        inside = stage.owner.row.address
        for signatures in ((), (sign(),)):  # a signed POST is no signature of a WebSocket
            assert (await send_upgrade(stage.owner, Attempt(opening, signatures))).startswith("HTTP/1.1 403"), inside
        assert league.callers == []


async def send_upgrade(server: FakeServer, attempt: Attempt) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.internal.port)
    headers = b"".join(b"%b: %b\r\n" % header for header in attempt.call.headers)
    signatures = b"".join(SIGNATURE + each + b"\r\n" for each in attempt.signatures)
    writer.write(b"GET %b HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\n" % attempt.call.target + headers + signatures)
    writer.write(b"\r\n")
    line = await reader.readline()
    writer.close()
    return line.decode()


def test_a_nonce_is_remembered_as_long_as_its_call_could_be_taken() -> None:
    now = [1000.0]
    verifier = CallVerifier(KEY, lambda: "owner", lambda: now[0])
    early = sign(at=now[0] + MAX_AGE_SECONDS)  # by a clock that is ahead
    verifier.check_header(early)
    for step in range(1, 101):
        verifier.check_header(sign(at=now[0]))
        now[0] = 1000 + step * 2 * MAX_AGE_SECONDS / 20
        with pytest.raises(BadSignature, match="came before" if step <= 20 else "signed"):
            verifier.check_header(early)
    assert len(verifier._seen) + len(verifier._seen_before) < 50
