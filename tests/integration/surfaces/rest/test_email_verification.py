"""A member's address counts once they have entered the code that was mailed to it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.people.email_addresses import find_member_address
from tests.kit.api import Api, served
from tests.kit.bench import Bench
from tests.kit.gate import Market, gate_bench
from tests.kit.mail import MailServerDouble, mail_server
from tests.kit.people import PASSWORD, Browser, browser, cheap, make_person, token_of

CODE = re.compile(r"Your code is ([A-Z0-9]{5}-[A-Z0-9]{5})\n")
OLD, NEW = "ada@example.com", "ada@example.org"


@dataclass(slots=True)
class Page:
    """The first member's browser, and the mail server that the installation sends by."""

    api: Api
    at: Browser
    post: MailServerDouble

    async def person(self) -> dict[str, Any]:
        user: dict[str, Any] = (await self.at.ask("GET", "/session")).json()["user"]
        return user

    async def set_email(self, email: str) -> dict[str, Any]:
        answer = await self.at.ask("PATCH", "/me", json={"email": email})
        assert answer.status_code == 200, answer.text
        body: dict[str, Any] = answer.json()
        return body

    async def enter(self, code: str) -> int:
        answer = await self.at.ask("POST", "/me/email/verify", json={"code": code})
        return int(answer.status_code)

    async def reached(self) -> str | None:
        application = self.api.application
        return await find_member_address(
            application.database, application.workspace_id, FIRST_MEMBER, None
        )

    def code(self, to: str) -> str:
        """The newest code that was mailed to an address."""
        last = self.post.envelopes[-1]
        assert last.rcpt_tos == [to]
        found = CODE.search(self.post.messages[-1].get_content().replace("\r\n", "\n"))
        assert found is not None
        return found[1]


@asynccontextmanager
async def _page(bench: Bench, post: MailServerDouble) -> AsyncIterator[Page]:
    async with mail_server(post) as port:
        url = f"smtp://127.0.0.1:{port}"
        async with (
            gate_bench(bench, Market(), smtp_url=url) as one,
            served(replace(one.application, passwords=cheap())) as api,
            browser(api, FIRST_MEMBER) as at,
        ):
            yield Page(api, at, post)


async def test_an_address_counts_once_its_code_is_entered(bench: Bench) -> None:
    async with _page(bench, MailServerDouble()) as page:
        output = await page.set_email(OLD)
        assert (output["email"], output["email_state"], output["pending_email"]) == (
            OLD,
            "unverified",
            OLD,
        )
        assert await page.reached() is None
        code = page.code(OLD)
        assert f"/settings/you#verify={code}" in page.post.messages[-1].get_content()
        assert await page.enter("AAAAA-AAAAA") == 410
        assert await page.reached() is None
        assert await page.enter(f" {code.lower().replace('-', ' ')}") == 200
        assert await page.reached() == OLD
        assert (await page.person())["email_state"] == "verified"
        # It works once.
        assert await page.enter(code) == 410
        stored = "SELECT count(*) FROM email_verifications"
        assert await page.api.application.database.fetchval(stored) == 0


async def test_a_verified_address_stays_in_force_until_the_new_one_is(bench: Bench) -> None:
    async with _page(bench, MailServerDouble()) as page:
        await page.set_email(OLD)
        assert await page.enter(page.code(OLD)) == 200
        output = await page.set_email(NEW)
        assert (output["email"], output["email_state"], output["pending_email"]) == (
            OLD,
            "verified",
            NEW,
        )
        assert await page.reached() == OLD
        assert await page.enter(page.code(NEW)) == 200
        assert await page.reached() == NEW
        result = page.post.messages[-1]
        assert page.post.envelopes[-1].rcpt_tos == [OLD]
        assert NEW in result.get_content()


async def test_a_code_is_for_the_newest_address_and_its_own_member(bench: Bench) -> None:
    async with _page(bench, MailServerDouble()) as page:
        await page.set_email(OLD)
        first = page.code(OLD)
        await page.set_email(NEW)
        second = page.code(NEW)
        assert await page.enter(first) == 410
        database = page.api.application.database
        other = await make_person(database, "eve@example.com")
        async with browser(page.api, other.id) as at:
            tried = await at.ask("POST", "/me/email/verify", json={"code": second})
            assert tried.status_code == 410, tried.text
        stored = await database.fetchrow("SELECT * FROM email_verifications")
        assert second.replace("-", "") not in str(stored)
        await database.execute("UPDATE email_verifications SET expires_at = now()")
        assert await page.enter(second) == 410
        again = await page.at.ask("POST", "/me/email/code")
        assert again.status_code == 200, again.text
        assert await page.enter(page.code(NEW)) == 200
        nothing = await page.at.ask("POST", "/me/email/code")
        assert (nothing.status_code, nothing.json()["code"]) == (409, "nothing_to_verify")


async def test_codes_and_tries_are_limited(bench: Bench) -> None:
    async with _page(bench, MailServerDouble()) as page:
        await page.set_email(OLD)
        code = page.code(OLD)
        tried = [await page.enter("AAAAA-AAAAA") for _ in range(11)]
        assert tried == [410] * 10 + [429]
        assert await page.enter(code) == 429
        sent = [(await page.at.ask("POST", "/me/email/code")).status_code for _ in range(5)]
        assert sent == [200] * 4 + [429]


async def test_a_token_neither_sets_nor_verifies_an_address(bench: Bench) -> None:
    async with _page(bench, MailServerDouble()) as page:
        await page.set_email(OLD)
        code, application = page.code(OLD), page.api.application
        token = await token_of(application.database, application.workspace_id, FIRST_MEMBER)
        asks: list[tuple[str, str, dict[str, Any] | None]] = [
            ("PATCH", "/me", {"email": "eve@example.com"}),
            ("POST", "/me/email/code", None),
            ("POST", "/me/email/verify", {"code": code}),
        ]
        for method, path, body in asks:
            answer = await page.api.anonymous.request(
                method, f"/api/v1{path}", json=body, headers=token
            )
            assert (answer.status_code, answer.json()["code"]) == (409, "needs_session")
        assert await page.reached() is None


async def test_a_mail_that_is_not_taken_is_said_and_the_email_is_kept(bench: Bench) -> None:
    async with _page(bench, MailServerDouble(refusals={OLD: "550 no such mailbox"})) as page:
        output = await page.set_email(OLD)
        assert output["email"] == OLD
        assert "could not be mailed" in output["email_note"]
        again = await page.at.ask("POST", "/me/email/code")
        assert again.status_code >= 400


async def test_without_a_mail_server_nothing_can_be_verified(api: Api) -> None:
    async with browser(api, FIRST_MEMBER) as at:
        changed = await at.ask("PATCH", "/me", json={"email": OLD})
        assert changed.status_code == 200, changed.text
        output = changed.json()
        assert (output["email"], output["email_state"], output["pending_email"]) == (
            OLD,
            "unverified",
            None,
        )
        refused = await at.ask("POST", "/me/email/code")
        assert (refused.status_code, refused.json()["code"]) == (409, "mail_not_set_up")


async def test_somebody_else_s_address_cannot_be_asked_for(bench: Bench) -> None:
    async with _page(bench, MailServerDouble()) as page:
        await make_person(page.api.application.database, NEW)
        accepted = await page.at.ask(
            "PATCH", "/me", json={"email": NEW, "current_password": PASSWORD}
        )
        assert (accepted.status_code, accepted.json()["code"]) == (409, "email_taken")
        assert page.post.envelopes == []
