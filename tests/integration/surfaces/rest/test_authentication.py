"""Nobody comes in without a token, by whatever spelling of whatever address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts

from mainspring.app import application_services
from mainspring.contracts.errors import InternalError
from mainspring.surfaces.rest.app import build_api
from mainspring.surfaces.rest.request_bodies import JsonAnswer
from mainspring.surfaces.rest.route_access import is_public
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.web.files import SCREENS
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.tokens import list_tokens, make_token, revoke_token
from tests.kit.api import Api
from tests.kit.bench import Bench
from tests.kit.raw_http import statuses

ROOT = "/api/v1"
AN_ID = "01900000-0000-7000-8000-000000000001"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")

# Every address that is open to everybody. A route that is added here needs a reason.
PUBLIC = {
    # Outside systems have a token or a signature of their own.
    *(
        (method, path)
        for path in (
            "/api/v1/automations/{automation_id}/fire",
            "/api/v1/automations/{automation_id}/hooks/{slug}",
            "/api/v1/hooks/{token}",
        )
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
    ),
    # The link of a hosted form is its credential.
    ("GET", "/forms/{token}"),
    ("GET", "/api/v1/forms/{token}"),
    ("POST", "/api/v1/forms/{token}"),
    # Slack signs its requests with the workspace's signing secret.
    ("POST", "/api/v1/integrations/slack/interactions/{workspace_id}"),
    # Providers authenticate a notification with the secret of its channel.
    ("POST", "/api/v1/push-channels/{workspace_id}/{channel_id}"),
    # Answers a nonce, and shows the caller their own headers.
    ("GET", "/api/v1/public-address/proof"),
    # A signed link is handed on to people without a token.
    ("GET", "/api/v1/artifacts/{artifact_id}/content"),
    # Signing in, and the pages for it: files, the same for all.
    ("POST", "/api/v1/session"),
    ("POST", "/api/v1/session/link"),
    ("POST", "/api/v1/session/link/look"),
    # A terminal that nobody has confirmed yet: it is given nothing before a person types its code.
    ("POST", "/api/v1/session/terminal"),
    ("POST", "/api/v1/session/terminal/collect"),
    *(("GET", path) for path in SCREENS),
    ("GET", "/assets/{name}"),
    ("GET", "/manifest.webmanifest"),
    ("GET", "/service-worker.js"),
    # The documentation, the same for all.
    ("GET", "/docs"),
    ("GET", "/docs/{path:path}"),
    # The redirect after signing in elsewhere: it works once, for the member who left.
    ("GET", "/api/v1/connections/{connection_id}/sign-in/callback"),
    ("GET", "/api/v1/integrations/callback/{provider}"),
    # A client that nobody has agreed to yet: it asks a person, and is given nothing without one.
    ("GET", "/.well-known/oauth-authorization-server"),
    ("GET", "/.well-known/oauth-authorization-server/mcp"),
    ("GET", "/.well-known/oauth-protected-resource"),
    ("GET", "/.well-known/oauth-protected-resource/mcp"),
    ("POST", "/oauth/register"),
    ("GET", "/oauth/authorize"),
    ("POST", "/oauth/token"),
    ("POST", "/oauth/revoke"),
    # What a script imports, which tells of no workspace.
    ("GET", "/sdks/automation-sdk-v1.ts"),
    ("GET", "/sdks/automation-sdk-v1.sha256"),
    # Monitoring of the server, and documentation for clients.
    ("GET", "/api/v1/openapi.json"),
    ("GET", "/api/v1/health"),
    ("GET", "/api/v1/health/live"),
    ("GET", "/api/v1/health/ready"),
    # The same at the addresses that those who run containers expect.
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/livez"),
}


def _table(app: FastAPI) -> Iterator[tuple[str, str, bool]]:
    for route in iter_route_contexts(app.routes):
        for method in route.methods or ():
            yield method, route.path or "", is_public(route.endpoint)


def _filled(path: str) -> str:
    """The address of a route with something in each place."""
    return "/".join(AN_ID if piece.startswith("{") else piece for piece in path.split("/"))


def _spellings(address: str) -> Iterator[str]:
    head, _, last = address.rpartition("/")
    yield address
    yield address + "/"
    yield address + "//"
    yield address.replace("/api/", "//api/")
    yield address.replace("/v1/", "/v1//")
    yield f"{head}//{last}"
    yield address.upper()
    yield f"{head}/{last.upper()}"
    yield address + ";x=1"
    yield address + "%2F"
    yield address + "%00"
    yield f"{head}/%2e/{last}"
    yield f"{head}%2f{last}"
    # Each letter may be written by its number, once or twice over.
    yield f"{head}/%{ord(last[0]):02x}{last[1:]}" if last else address
    yield f"{head}/%25{ord(last[0]):02x}{last[1:]}" if last else address
    yield address.replace("/api/", "/%61pi/")
    yield f"{head}/..;/{last}"
    yield f"{head}%5c{last}"
    yield f"{ROOT}/health/..{address.removeprefix(ROOT)}"
    yield f"{ROOT}/health/%2e%2e{address.removeprefix(ROOT)}"
    yield f"{ROOT}/health/live{address.removeprefix(ROOT)}"
    yield address + "?token=msk_x&access_token=msk_x"
    names = ("health", "ready", "live", "docs", "openapi.json", "health/live")
    # Each address is tried with each name, and with each way to add it, in turns.
    for number, name in enumerate(names, len(address)):
        yield address + ("/", "%2F", "-")[number % 3] + name


async def _status(api: Api, method: str, target: str, headers: Any = None) -> int:
    """Asks for a target exactly as it is spelt; a client would tidy it up."""
    answer = await api.anonymous.request(
        method, "/", headers=headers, extensions={"target": target.encode()}
    )
    return answer.status_code


async def _statuses(api: Api, asked: list[tuple[str, str]]) -> list[tuple[str, str, int]]:
    found = await statuses(api.address, asked)
    return [(*entry, status) for entry, status in zip(asked, found, strict=True)]


def _is_open(method: str, target: str) -> bool:
    path = unquote(target.partition("?")[0])
    if method == "GET" and path.startswith("/docs/"):
        return True
    return any(
        method == open_method
        and len(path.split("/")) == len(open_path.split("/"))
        and all(
            expected == given or (expected.startswith("{") and given)
            for expected, given in zip(open_path.split("/"), path.split("/"), strict=True)
        )
        for open_method, open_path in PUBLIC
    )


async def test_the_public_routes_are_the_written_ones(api: Api) -> None:
    assert {(method, path) for method, path, open_one in _table(api.app) if open_one} == PUBLIC


async def test_without_a_token_only_the_public_routes_answer(api: Api) -> None:
    addresses = sorted({_filled(path) for _, path, _ in _table(api.app)})
    assert len(addresses) > 5
    asked = [
        (method, spelt)
        for address in [*addresses, "/", ROOT, f"{ROOT}/no-such-thing", "/metrics", "/docs"]
        for method in METHODS
        for spelt in (_spellings(address) if method == "GET" else (address,))
        if not _is_open(method, spelt)
    ]

    assert [entry for entry in await _statuses(api, asked) if entry[2] not in {401, 400}] == []


async def test_a_thing_that_is_called_like_a_public_address_is_not_one(api: Api) -> None:
    names = ("health", "live", "ready", "docs", "openapi.json", "sign-in", "content", "session")
    asked = [
        (method, _filled(head) + "/" + name)
        for method, path, _ in _table(api.app)
        for head, _, last in [path.rpartition("/")]
        for name in names
        if last.startswith("{") and not _is_open(method, _filled(head) + "/" + name)
    ]

    assert len(asked) > 50
    assert [entry for entry in await _statuses(api, asked) if entry[2] != 401] == []


async def test_a_public_address_is_open_to_its_own_method_alone(api: Api) -> None:
    asked = [
        (method, _filled(path))
        for _, path in PUBLIC
        for method in METHODS
        if not _is_open(method, _filled(path))
    ]

    assert [entry for entry in await _statuses(api, asked) if entry[2] not in {401, 400}] == []


async def test_a_public_address_without_its_own_proof_gives_nothing(api: Api) -> None:
    # The redirect asks for a session at the second time.
    own = [
        (method, f"{_filled(path)}?again=1")
        for method, path in PUBLIC
        if ROOT in path and "{" in path
    ]

    answered = await _statuses(api, own)

    preflights = {status for method, _, status in answered if method == "OPTIONS"}
    assert len(answered) == 28
    # A CORS preflight gets the same empty answer, whether the webhook exists or not.
    assert preflights == {204}
    assert {status for method, _, status in answered if method != "OPTIONS"} <= {401, 404}


async def test_the_refusal_is_a_problem_that_says_how_to_come_in(api: Api) -> None:
    answer = await api.anonymous.get(f"{ROOT}/metrics")

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["type"] == "urn:mainspring:problem:unauthenticated"
    assert "Authorization: Bearer" in answer.json()["suggestion"]


async def test_an_upgrade_to_a_web_socket_is_no_way_in(api: Api) -> None:
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
    }

    assert await _status(api, "GET", f"{ROOT}/metrics", headers) == 401


async def test_the_token_is_taken_from_its_header_and_nowhere_else(api: Api) -> None:
    path, token = f"{ROOT}/metrics", api.token

    assert await _status(api, "GET", path, {"Authorization": f"Bearer {token}"}) == 200
    assert await _status(api, "GET", path, {"Authorization": f"bearer   {token}"}) == 200
    assert await _status(api, "GET", f"{path}?token={token}") == 401
    assert await _status(api, "GET", f"{path}?access_token={token}") == 401
    assert await _status(api, "GET", path, {"Cookie": f"token={token}"}) == 401
    assert await _status(api, "GET", path, {"X-Api-Key": token}) == 401


async def test_what_only_looks_like_a_token_is_refused(api: Api) -> None:
    looks = [
        "",
        "Bearer",
        "Basic {token}",
        "Token {token}",
        "{token}",
        "Bearer{token}",
        "Bearer {token}x",
        "Bearer x{token}",
        "Bearer {token} {token}",
        "Bearer {token},",
        'Bearer "{token}"',
        "Bearer msk_" + "A" * 43,
        "Bearer " + "A" * 20_000,
        "Bearer\t{token}",
        "Bearer msk_é" + "A" * 42,
        "Bearer ' OR 1=1 --",
    ]
    for shown in looks:
        header = shown.replace("{token}", api.token).encode("latin-1")
        status = await _status(api, "GET", f"{ROOT}/metrics", {b"Authorization": header})
        assert status == 401, shown


async def test_two_headers_are_nobodys(api: Api) -> None:
    twice = [("Authorization", f"Bearer {api.token}")] * 2

    assert await _status(api, "GET", f"{ROOT}/metrics", twice) == 401


async def test_a_revoked_token_is_refused_from_the_next_request_on(api: Api) -> None:
    application = api.application
    stored, plain = await make_token(
        application.database, application.workspace_id, FIRST_MEMBER, "guest"
    )
    headers = {"Authorization": f"Bearer {plain}"}
    assert await _status(api, "GET", f"{ROOT}/metrics", headers) == 200

    await revoke_token(application.database, application.workspace_id, stored.id)

    assert await _status(api, "GET", f"{ROOT}/metrics", headers) == 401
    assert len(await list_tokens(application.database, application.workspace_id)) == 2


async def test_a_public_address_is_open_to_those_with_a_bad_token_too(api: Api) -> None:
    headers = {"Authorization": "Bearer of bad news"}

    assert await _status(api, "GET", f"{ROOT}/health/live", headers) == 200


async def test_every_route_that_is_not_public_has_the_second_lock(api: Api) -> None:
    """The gate alone would do; a route that a public pattern hides must not depend on it."""
    unlocked = [
        route.path
        for route in api.app.routes
        if isinstance(route, APIRoute)
        and "check_admitted"
        not in {
            entry.dependency.__name__
            for entry in route.dependencies
            if entry.dependency is not None
        }
    ]

    assert unlocked == []


async def test_a_route_that_does_not_say_who_may_use_it_stops_the_start(bench: Bench) -> None:
    made = router("test")

    @made.get("/unsaid", summary="Say nothing")
    async def read_unsaid() -> JsonAnswer:
        return JsonAnswer({})

    with pytest.raises(InternalError, match="does not say who may use it"):
        build_api(application_services(bench.application), more=[made])
