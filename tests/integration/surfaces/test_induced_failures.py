"""Failures made on purpose, by the hundred: no answer tells how the application is built.

Every route is asked wrongly, asked while its tables are gone, and asked while the database
is; handlers break with exceptions whose texts are full of what nobody may see.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from importlib.metadata import distributions
from typing import Any, Final

import asyncpg
import httpx2
import pytest_asyncio
from fastapi import APIRouter

from mainspring import __version__
from mainspring.app import build_application, build_registry
from mainspring.contracts.capability import Annotations, Audience, Capability
from mainspring.contracts.context import CallContext
from mainspring.contracts.limits import Limits
from mainspring.surfaces.rest.openapi import describe
from mainspring.surfaces.rest.request_bodies import JsonAnswer
from mainspring.surfaces.rest.route_access import anyone_known, public
from mainspring.surfaces.rest.router import router
from tests.kit.api import Api, owner_session, served
from tests.kit.bench import Bench

AN_ID: Final = "01900000-0000-7000-8000-0000000000ff"
SIGN_OUT: Final = ("DELETE", "/api/v1/session")
POISON: Final = (
    'poison-marker: relation "runs" does not exist; SELECT ciphertext FROM secrets WHERE 1=1; '
    '/etc/mainspring/master.key; File "/srv/app/store/database.py", line 7; password=hunter2'
)
# What gives away a stack, a path, a statement, a library or the text of an exception.
TELLING: Final = {
    "a stack": r"Traceback|\bline \d+, in \b|most recent call",
    "a path": r"File \"|\.py\b|site-packages|/(?:usr|etc|srv|home|root|tmp|var|opt|work)/",
    "a statement": r"\b(?:SELECT|INSERT INTO|DELETE FROM|UPDATE \w+ SET|ORDER BY|RETURNING)\b"
    r"|relation \"|syntax error at",
    "a library": r"(?i)\b(?:asyncpg|pydantic|starlette|fastapi|uvicorn|httptools|orjson|jinja2?)\b"
    r"|\b(?:postgres(?:ql)?|python)[ /]\d",
    "an exception's class": r"\b[A-Z][A-Za-z]+(?:Error|Exception|Iteration|Group)\b",
    "an exception's text": r"poison-marker|hunter2|division by zero|codec can't|unpack|NoneType"
    r"|object has no attribute|expected str|positional argument",
}
# Tables that the gate itself needs to know who is calling.
_DOOR: Final = ("access_tokens", "members", "users", "workspaces", "sessions", "run_tokens")
_TABLES: Final = """
    SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
"""


def _undecodable() -> Exception:
    try:
        b"\xff hunter2".decode()
    except UnicodeDecodeError as error:
        return error
    raise AssertionError


BREAKS: Final[Mapping[str, Callable[[], BaseException]]] = {
    "runtime": lambda: RuntimeError(POISON),
    "key": lambda: KeyError(POISON),
    "value": lambda: ValueError(POISON),
    "type": lambda: TypeError(POISON),
    "attribute": lambda: AttributeError(POISON),
    "assertion": lambda: AssertionError(POISON),
    "recursion": lambda: RecursionError(POISON),
    "file": lambda: FileNotFoundError(2, POISON, "/etc/mainspring/master.key"),
    "permission": lambda: PermissionError(13, POISON, "/root/.ssh/id_ed25519"),
    "connection": lambda: ConnectionRefusedError(111, POISON),
    "codec": _undecodable,
    "zero": lambda: ZeroDivisionError("division by zero"),
    "memory": lambda: MemoryError(POISON),
    "group": lambda: ExceptionGroup(POISON, [ValueError(POISON)]),
    "time": lambda: TimeoutError(POISON),
    "sql": lambda: asyncpg.PostgresSyntaxError(POISON),
    "unique": lambda: asyncpg.UniqueViolationError(POISON),
    "data": lambda: asyncpg.DataError(POISON),
    "interface": lambda: asyncpg.InterfaceError(POISON),
    "stop": lambda: StopAsyncIteration(POISON),
}


def _broken_routes() -> APIRouter:
    made = router("broken")
    for name, make in BREAKS.items():
        for mark, prefix in ((anyone_known, "known"), (public, "open")):
            made.add_api_route(
                f"/broken/{prefix}/{name}",
                mark(_endpoint(make)),
                methods=["GET"],
                name=f"broken_{prefix}_{name}",
            )
    return made


def _endpoint(make: Callable[[], BaseException]) -> Callable[[], Any]:
    async def endpoint() -> JsonAnswer:
        raise make()

    return endpoint


def _broken_capability(name: str, make: Callable[[], BaseException]) -> Capability:
    async def handler(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        raise make()

    anything = {"type": "object"}
    return Capability(
        f"broken.{name}",
        f"Break ({name})",
        anything,
        anything,
        handler,
        annotations=Annotations(audience=Audience.PEOPLE),
    )


@pytest_asyncio.fixture
async def broken_api(bench: Bench) -> AsyncIterator[Api]:
    """A served application with handlers that break."""
    capabilities = [_broken_capability(name, make) for name, make in BREAKS.items()]
    registry = build_registry(Limits(), capabilities=capabilities)
    settings = bench.application.settings
    made = build_application(
        settings, bench.application.limits, registry, bench.application.database
    )
    try:
        async with served(made, [_broken_routes()]) as api:
            yield api
    finally:
        await made.blobs.aclose()
        await made.wakeup_sender.aclose()
        await made.egress.aclose()


class Failures:
    """What came back to a person who is signed in, each judged as it arrives."""

    def __init__(self, api: Api, person: Mapping[str, str]) -> None:
        self._api = api
        self._person = person
        self._telling = {what: re.compile(pattern) for what, pattern in TELLING.items()}
        releases = {one.version for one in distributions() if one.version.count(".") >= 2}
        self._releases = re.compile(
            "|".join(rf"(?<![\d.]){re.escape(r)}(?![\d.])" for r in releases)
        )
        self.seen: list[str] = []
        self.messages: list[str] = []

    async def ask(self, method: str, path: str, **more: Any) -> httpx2.Response:
        headers = {**self._person, **more.pop("headers", {})}
        answer = await self._api.anonymous.request(method, path, headers=headers, **more)
        if (method, answer.request.url.path) == SIGN_OUT and answer.is_success:
            # After signing out, every other route would answer 401.
            self._person = await owner_session(self._api.application)
        if answer.status_code >= 400:
            self._judge(f"{method} {path}", answer)
        return answer

    def _judge(self, asked: str, answer: httpx2.Response) -> None:
        self.seen.append(asked)
        # The path that was asked for is the caller's own, and is said back.
        text = answer.text.replace(answer.request.url.path, "")
        headers = "\n".join(f"{name}: {value}" for name, value in answer.headers.items())
        for what, pattern in self._telling.items():
            found = pattern.search(text) or pattern.search(headers)
            if found is not None:
                self.messages.append(f"{asked} ({answer.status_code}) tells {what}: {found[0]!r}")
        # Health names the release of the product itself, on purpose.
        shown = text.replace(f'"{__version__}"', "") if "/health" in asked else text
        found = self._releases.search(shown) or self._releases.search(headers)
        if found is not None:
            self.messages.append(f"{asked} ({answer.status_code}) tells a release: {found[0]!r}")
        # Health has a document of its own, which says what is not well.
        usual = "/health" not in asked
        if usual and answer.headers["content-type"] != "application/problem+json":
            self.messages.append(f"{asked} ({answer.status_code}) is no problem document")


def _routes(api: Api) -> list[tuple[str, str]]:
    """Method and path template of every route; one stream never ends and is left out."""
    described = describe(api.app)
    found = {(method.upper(), path) for path, method, _ in _operations(described)}
    return sorted(entry for entry in found if not entry[1].endswith("/api/v1/stream"))


def _operations(described: dict[str, Any]) -> list[tuple[str, str, Any]]:
    return [
        (path, method, operation)
        for path, entries in described["paths"].items()
        for method, operation in entries.items()
        if method in ("get", "post", "put", "patch", "delete")
    ]


def _filled(path: str, value: str = AN_ID) -> str:
    return re.sub(r"\{[^}]+\}", value, path)


async def test_two_hundred_failures_reveal_nothing_internal(broken_api: Api) -> None:
    failures = Failures(broken_api, await owner_session(broken_api.application))
    routes = _routes(broken_api)
    assert len(routes) > 60

    for place, (method, path) in enumerate(routes):
        if place % 3 != 0:
            await failures.ask(method, _filled(path, "x'%20OR%20(1=1"), json={"a": [{}]})
        if place % 3 != 1:
            half = {"content": b'{"half": ', "headers": {"Content-Type": "application/json"}}
            await failures.ask(method, _filled(path), **half)
        if place % 3 != 2:
            await failures.ask(method, _filled(path) + "?limit=-1&cursor=%FF%FE&x[]=1", json=[1])
    wrong = len(failures.seen)
    for kind in ("known", "open"):
        for name in BREAKS:
            answer = await failures.ask("GET", f"/api/v1/broken/{kind}/{name}")
            assert answer.status_code >= 500
    for name in BREAKS:
        answer = await failures.ask("POST", f"/api/v1/capabilities/broken.{name}", json={})
        assert answer.status_code >= 500
    broken = len(failures.seen) - wrong
    await _take_tables_away(broken_api)
    for method, path in routes:
        await failures.ask(method, _filled(path), json={})
    gone = len(failures.seen) - wrong - broken
    assert failures.messages == []
    # Each kind has failed as it was meant to, and often.
    assert (wrong > 120, broken, gone > 40) == (True, 3 * len(BREAKS), True)
    assert len(failures.seen) >= 200


async def test_without_a_database_every_route_still_tells_nothing(broken_api: Api) -> None:
    failures = Failures(broken_api, await owner_session(broken_api.application))
    async with asyncio.timeout(60):
        await broken_api.application.database.close()
        for method, path in _routes(broken_api)[::6]:
            await failures.ask(method, _filled(path), json={})

    assert failures.messages == []
    assert len(failures.seen) >= 10


async def _take_tables_away(api: Api) -> None:
    database = api.application.database
    rows = await database.fetch(_TABLES)
    names = [row["name"] for row in rows if row["name"] not in _DOOR]
    assert len(names) > 15
    for name in names:
        await database.execute(f'ALTER TABLE "{name}" RENAME TO "gone_{name}"')
