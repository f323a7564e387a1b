"""The turnstile: a flood is refused before it costs anything, and nobody else is."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from mainspring.surfaces.rest.middleware import RequestMetrics, WebhookThrottleMiddleware, close

PATH = "/api/v1/automations/1/fire"


@dataclass
class _Clock:
    now: float = 10.0

    def __call__(self) -> float:
        return self.now


@dataclass
class _Inside:
    """What is behind it: says of each call how long the next one has to wait."""

    seconds: float = 0.0
    calls: list[bytes] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.calls.append(dict(scope["headers"]).get(b"authorization", b""))
        close(scope, self.seconds)
        await send({"type": "http.response.start", "status": 202, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})


def _call(
    door: WebhookThrottleMiddleware,
    token: bytes = b"Bearer a",
    path: str = PATH,
    method: str = "POST",
) -> tuple[int, dict[bytes, bytes], bytes]:
    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("Nobody reads the body of a call that is refused.")

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "state": {},
        "headers": [(b"authorization", token), (b"x-request-id", b"sender-0001")],
    }
    asyncio.run(door(scope, receive, send))
    start, body = sent
    return start["status"], dict(start["headers"]), body["body"]


def test_callers_over_the_rate_limit_are_refused_early_and_only_they_are() -> None:
    clock, inside, tally = _Clock(), _Inside(seconds=0.01), RequestMetrics()
    middleware = WebhookThrottleMiddleware(inside, tally, clock=clock)
    assert _call(middleware)[0] == 202
    status, headers, body = _call(middleware)
    assert status == 429
    assert headers[b"retry-after"] == b"1"
    assert headers[b"x-request-id"] == b"sender-0001"
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"content-type"] == b"application/problem+json"
    result = json.loads(body)
    assert (result["status"], result["code"], result["instance"]) == (429, "too_many_calls", PATH)
    assert int(headers[b"content-length"]) == len(body)
    # Another token, another address and another method are not kept out by that.
    assert _call(middleware, b"Bearer b")[0] == 202
    assert _call(middleware, path=PATH.replace("1/", "2/"))[0] == 202
    assert _call(middleware, method="GET")[0] == 202
    clock.now += 0.011
    assert _call(middleware)[0] == 202
    assert len(inside.calls) == 5
    counted = [sample for family in tally.families() for sample in family.samples]
    assert any(sample.labels.get("status") == "429" and sample.value == 1 for sample in counted)


def test_nobody_is_kept_out_for_longer_than_a_moment() -> None:
    clock, inside = _Clock(), _Inside(seconds=30.0)
    middleware = WebhookThrottleMiddleware(inside, RequestMetrics(), clock=clock)
    assert _call(middleware)[0] == 202
    clock.now += 0.06
    assert _call(middleware)[0] == 202


def test_what_is_remembered_is_bounded() -> None:
    inside = _Inside(seconds=0.05)
    middleware = WebhookThrottleMiddleware(inside, RequestMetrics(), clock=_Clock())
    for number in range(2_500):
        _call(middleware, f"Bearer {number}".encode())
    assert len(inside.calls) == 2_500
    assert _call(middleware, b"Bearer 2499")[0] == 429
    assert _call(middleware, b"Bearer 1")[0] == 202
