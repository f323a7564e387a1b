"""What lets connections in, looked for everywhere after a provider has handed it back.

The provider says tokens, the renewal token and the client's secret again in bodies, errors,
redirects and headers, in every spelling. Then every table, file, log line, answer and page that
somebody could read is searched, as for the secrets of runs.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mainspring.connections.accounts.tokens import parse_token_response
from mainspring.store.database import Database
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.accounts import Accounts, accounts
from tests.kit.bench import document, step
from tests.kit.doubles.oauth_provider import CLIENT_SECRET
from tests.kit.leaks import Haystack, add_files, add_json, add_tables, echoes, spellings
from tests.kit.people import browser
from tests.kit.scripted_server import http_answer

KEY = "key-0123456789"
MAIL_PASSWORD = "imap-Pa55 wörd/+="
JSON = "Content-Type: application/json"
ROOT = "/api/v1"


def _parrot(status: int, *values: str, **more: Any) -> bytes:
    """An answer that says everything again, in every way, where a client looks first."""
    output = [text for value in values for text in echoes(value).values()]
    plain = " ".join(values)
    shown: dict[str, Any] = {
        "error": plain,
        "error_description": plain,
        "message": plain,
        "notes": output,
        "account": plain,
        "errors": [{"message": plain}],
        **more,
    }
    headers = [
        f"X-Echo-{place}: {text}"
        for place, text in enumerate(output)
        if text.isascii() and text.isprintable()
    ][:40]
    return http_answer(status, json.dumps(shown).encode(), JSON, *headers)


def _good(*values: str) -> bytes:
    """The same in the shape of a right answer."""
    output = [text for value in values for text in echoes(value).values()]
    return http_answer(200, json.dumps({"notes": output, "echo": " ".join(values)}).encode(), JSON)


def _away(url: str, value: str) -> bytes:
    return http_answer(302, b"", f"Location: {url}/{spellings(value).get('url', value)}")


class Story:
    """One member's dealings, and everything that they are answered."""

    def __init__(self, here: Accounts, hay: Haystack) -> None:
        self.here, self.hay = here, hay

    async def ask(self, method: str, path: str, body: Any = None) -> int:
        answer = await self.here.api.client.request(method, f"{ROOT}{path}", json=body)
        for name, text in answer.headers.items():
            self.hay.add(f"a header of {path}", f"{name}: {text}")
        if "json" in answer.headers.get("content-type", ""):
            add_json(self.hay, f"the answer to {method} {path}", answer.text)
        else:
            self.hay.add(f"the answer to {method} {path}", answer.text)
        return answer.status_code

    async def sign_in(self) -> None:
        path, query = await self.here.left()
        async with browser(self.here.api, FIRST_MEMBER) as mine:
            page = await mine.client.get(path, params={**query, "again": "1"})
        self.hay.add("the page of signing in", page.text + str(page.headers))

    async def run(self, name: str, capability: str) -> None:
        keep = "{{ read }}"
        plan = document(
            step("read", capability, {}, max_retries=0),
            step("keep", "automation_kv.set", {"key": "k", "value": keep}),
            step("say", "notification", {"title": "Came", "message_template": keep}),
            name=name,
            execution={
                "on_failure": [
                    step(
                        "tell",
                        "notification",
                        {"title": "Failed", "message_template": "{{ run.error }}"},
                    ),
                ]
            },
        )
        ended = await self.here.run(plan)
        self.hay.add("a run", str(ended))
        await self.ask("GET", f"/runs/{ended['id']}")

    def held(self) -> dict[str, str]:
        """All that was ever handed out and is still known to the provider."""
        found: dict[str, str] = {}
        for place, family in enumerate(self.here.provider.families):
            found |= {f"access {place} {n}": one for n, one in enumerate(family.access)}
            found[f"refresh {place}"] = family.refresh
        return {name: value for name, value in found.items() if value}


async def _by_key(story: Story) -> None:
    """A connection by a key, given rightly and in every wrong way."""
    for wrong in (
        {"fields": KEY},
        {"fields": [KEY]},
        {"fields": {"token": [KEY]}},
        {"label": 7, KEY: 1},
        {"fields": {"token": KEY, "team": {"a": KEY}}},
        {"fields": {KEY: KEY}},
        {"fields": {"token": KEY * 4_000}},
    ):
        assert await story.ask("POST", "/integrations/keyed/connect", wrong) == 422
    right = {"fields": {"token": KEY}}
    provider = story.here.provider
    for answer in (
        _parrot(401, KEY),
        _parrot(403, KEY),
        _parrot(500, KEY),
        _away(provider.elsewhere, KEY),
        b"HTTP/9.9 " + KEY.encode() + b"\r\n\r\n",
    ):
        provider.script = [answer]
        assert await story.ask("POST", "/integrations/keyed/connect", right) >= 400
    provider.script = [_parrot(200, KEY)]
    assert await story.ask("POST", "/integrations/keyed/connect", right) < 300
    provider.script = [_good(KEY)]
    await story.run("by key", "keyed.read")
    provider.script = [_parrot(500, KEY)]
    await story.run("by key, refused", "keyed.read")


async def _by_signing_in(story: Story, planted: dict[str, str]) -> None:
    """Tokens that are handed out, used, renewed and ended, while the provider repeats them."""
    provider = story.here.provider
    for status in (400, 401, 500):
        path, query = await story.here.left()
        provider.script = [_parrot(status, CLIENT_SECRET, query["code"])]
        async with browser(story.here.api, FIRST_MEMBER) as mine:
            page = await mine.client.get(path, params={**query, "again": "1"})
        story.hay.add("the page of a refusal", page.text)
        assert page.status_code >= 400
    await story.sign_in()
    planted |= story.held()
    access, refresh = planted["access 0 0"], planted["refresh 0"]
    for answer in (
        _good(access),
        _parrot(200, access),
        _parrot(403, access),
        _parrot(500, access),
        _away(provider.elsewhere, access),
        _away(provider.url, access),
        http_answer(200, access.encode()),
        b"HTTP/9.9 " + access.encode() + b"\r\n\r\n",
    ):
        provider.script = [answer]
        await story.run(f"run {len(story.hay)}", "notebook.read")
        provider.script = [answer]
        await story.ask("POST", "/capabilities/notebook.read", {})
    # Renewals that are refused with all that was sent, and one that comes back as what it is for.
    await story.here.expire_here()
    provider.script = [_parrot(503, refresh, CLIENT_SECRET)]
    await story.run("renewal put off", "notebook.read")
    provider.script = []
    await story.run("renewed", "notebook.read")
    planted |= {f"later {name}": value for name, value in story.held().items()}
    provider.expire()
    provider.script = [
        _parrot(401, access),
        _parrot(400, planted["later refresh 0"], CLIENT_SECRET),
    ]
    await story.run("renewal refused", "notebook.read")
    provider.script = []
    await story.sign_in()
    planted |= {f"again {name}": value for name, value in story.held().items()}
    await story.ask("POST", "/integrations/notebook/test")


async def _read_back(story: Story) -> None:
    for path in (
        "runs",
        "automations",
        "inbox",
        "events",
        "audit",
        "secrets",
        "export",
        "metrics",
        "integrations",
        "oauth-clients",
        "drafts",
        "capabilities",
    ):
        await story.ask("GET", f"/{path}")
    async with browser(story.here.api, FIRST_MEMBER) as mine:
        for page in ("/", "/integrations", "/integrations/notebook", "/inbox", "/automations"):
            story.hay.add(f"the page {page}", (await mine.client.get(page)).text)


async def test_no_credential_of_a_connection_can_be_read_anywhere(
    database: Database, database_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    del database
    caplog.set_level(logging.DEBUG)
    hay, planted = Haystack(), {"the client": CLIENT_SECRET, "the key": KEY}
    async with accounts(database_url, tmp_path / "home") as here:
        story = Story(here, hay)
        await here.be_client()
        await _by_key(story)
        await _by_signing_in(story, planted)
        # A mailbox is connected by a password, which no answer says again either.
        for host in ("127.0.0.1", "localhost", "a b", "unknown.invalid"):
            fields = {"host": host, "user": "ada", "password": MAIL_PASSWORD, "port": 993}
            await story.ask("POST", "/integrations/email/connect", {"fields": fields})
        planted["the mailbox"] = MAIL_PASSWORD
        await _read_back(story)
        await story.ask("DELETE", "/integrations/notebook/connection")
        await story.ask("DELETE", "/oauth-clients/acme")
        assert await add_tables(hay, here.application.database) > 100
        add_files(hay, here.application.settings.home, leave_out=("master.key",))
        assert not here.unknown_provider.requests, "nobody else was told anything"
        sent = b"".join(here.provider.requests).decode("latin-1")
        assert all(one in sent for name, one in planted.items() if name.startswith("access"))
    for record in caplog.records:
        hay.add(f"the log of {record.name}", f"{record.getMessage()} {record.exc_text or ''}")
        hay.add(f"the log of {record.name}", repr(record.args))
    assert "[secret connection.token" in hay
    assert len(planted) >= 7, planted.keys()
    assert hay.found(_distinct(planted)) == []


def test_a_token_reported_as_a_scope_is_rejected() -> None:
    output = {
        "access_token": "acc-1234567",
        "refresh_token": "ref-1234567",
        "scope": "notes.read acc-1234567 x-ref-1234567",
    }
    assert parse_token_response(output, {}).scopes == frozenset({"notes.read"})
    assert parse_token_response({**output, "scope": None}, {}).scopes is None


def _distinct(planted: Mapping[str, str]) -> dict[str, str]:
    return {name: value for value, name in {one: name for name, one in planted.items()}.items()}
