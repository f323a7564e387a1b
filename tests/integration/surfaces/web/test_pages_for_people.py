"""The pages about automations and the inbox, as a browser is given them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from mainspring.contracts.roles import Role
from mainspring.surfaces.web.files import FILES, read_file
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.api import Api, served
from tests.kit.authoring import draft
from tests.kit.drafts import office
from tests.kit.house import Bench
from tests.kit.people import ROOT, browser, make_person

AN_ID = "01900000-0000-7000-8000-0000000000ff"
PAGES = {
    "/": "home", "/automations": "automations", f"/automations/{AN_ID}": "automation",
    "/inbox": "inbox", "/new": "new", f"/proposals/{AN_ID}": "proposal",
    "/integrations": "integrations", "/integrations/gmail": "integrations",
    "/codex": "codex", "/codex/uptime-check": "codex",
}  # fmt: skip
TEXTS = {file.path: read_file(file).decode() for file in FILES}
KNOWN = {*TEXTS, "data:,"}
_CALL = re.compile(r'ask\(\s*"([A-Z]+)",\s*(?:[`"]([^`"]+)[`"]|(ONE)\b)')


async def _text(api: Api, path: str) -> str:
    answer = await api.stranger.get(path)
    assert answer.status_code == 200, path
    return answer.text


def _modules(name: str) -> dict[str, str]:
    """A script, and all that it imports, by their addresses."""
    found: dict[str, str] = {}
    rest = [f"/assets/{name}.js"]
    while rest:
        path = rest.pop()
        if path not in found:
            found[path] = TEXTS[path]
            rest += [f"/assets/{one}" for one in re.findall(r'from "\./([^"]+)"', TEXTS[path])]
    return found


def _asked(script: str) -> Iterator[tuple[str, str]]:
    """The method and the path of each question, with a star for what stands in a variable."""
    for method, spelt, _ in _CALL.findall(script):
        path = spelt.replace("${ONE}", "/automations/${ID}") if spelt else "/automations/${ID}"
        yield method, re.sub(r"\$\{[^}]*\}", "*", path.partition("?")[0]).replace("**", "*")


async def test_every_page_is_a_file_that_runs_its_own_scripts_and_nothing_else(api: Api) -> None:
    for path in PAGES:
        answer = await api.stranger.get(path)
        assert answer.status_code == 200, path
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "set-cookie" not in answer.headers
        page = answer.text
        assert not re.search(r"<script(?![^>]*\ssrc=)|\son\w+=|\sstyle=|<style", page), path
        assert set(re.findall(r'(?:src|href|action)="([^"]+)"', page)) <= KNOWN, path
        assert {"/new", "/automations", "/inbox", "/codex", "/integrations", "/"} <= set(
            re.findall(r'<a href="([^"]+)"', page)
        )
        for field in re.findall(r'<(?:input|select|textarea) [^>]*id="([^"]+)"', page):
            assert re.search(rf'<label[^>]* for="{field}"', page), field


def test_a_page_has_every_place_that_its_scripts_fill() -> None:
    for file in FILES:
        name = file.name.removesuffix(".html")
        if name not in PAGES.values() or not file.name.endswith(".html"):
            continue
        there = re.findall(r'id="([^"]+)"', TEXTS[file.path])
        assert len(there) == len(set(there)), name
        wanted = {"notice", "sign-out"}
        for address, script in _modules(name).items():
            if address != "/assets/page.js":
                wanted |= set(re.findall(r'byId\("([^"]+)"\)', script))
                wanted |= {"content"} if "arrive(" in script else set()
                wanted |= {"told"} if "tell(" in script and address != "/assets/parts.js" else set()
        assert wanted <= set(there), name


def test_text_only_ever_becomes_text() -> None:
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|\beval\(|new Function"
        r"|DOMParser|createContextualFragment|https?://"
    )
    scripts = [path for path in TEXTS if path.endswith(".js")]
    assert len(scripts) > 5
    for path in scripts:
        assert not forbidden.search(TEXTS[path]), path


async def test_the_pages_ask_nothing_that_the_api_does_not_answer(api: Api) -> None:
    described = (await api.stranger.get(f"{ROOT}/openapi.json")).json()["paths"]
    offered = {
        (method.upper(), tuple(path.removeprefix(ROOT).split("/")))
        for path, methods in described.items()
        for method in methods
    }
    asked = set()
    for name in PAGES.values():
        for script in _modules(name).values():
            asked |= set(_asked(script))
    assert {("POST", "/automations/*/activate"), ("POST", "/drafts/*/*")} <= asked
    for method, path in asked:
        parts = path.split("/")
        assert any(
            method == known and len(parts) == len(other) and all(
                mine in ("*", theirs) or theirs.startswith("{")
                for mine, theirs in zip(parts, other, strict=True)
            )
            for known, other in offered
        ), (method, path)  # fmt: skip


async def test_a_page_is_the_same_for_everybody_and_stands_at_its_own_address_alone(
    api: Api,
) -> None:
    for path in PAGES:
        theirs, mine = await api.stranger.get(path), await api.client.get(path)
        assert theirs.content == mine.content
        assert (await api.stranger.post(path)).status_code == 401
    for path in (
        "/automations/", "/automations/nothing", f"/automations/{AN_ID}/", "/Automations",
        f"/automations/{AN_ID}/runs", f"/automations/{AN_ID}x", "/inbox/", "/inbox.html",
        "/automations/../inbox", "/assets/automation.html", "/assets/automation", "/new/",
        "/proposals", "/proposals/nothing", f"/proposals/{AN_ID}/", f"/proposals/{AN_ID}/save",
    ):  # fmt: skip
        shown = await api.stranger.request("GET", "/", extensions={"target": path.encode()})
        assert shown.status_code == 401, path
        known = await api.client.request("GET", "/", extensions={"target": path.encode()})
        assert known.status_code == 404, path
    # What a page without anybody signed in is told; it then leads to the page for signing in.
    assert (await api.stranger.get(f"{ROOT}/session")).status_code == 401


async def test_whoever_saved_a_draft_is_led_to_a_page_where_a_person_activates_it(
    api: Api,
) -> None:
    saved = await api.client.post(f"{ROOT}/capabilities/save_automation_draft", json=draft())
    told = saved.json()
    assert told["state"] == "paused", saved.text
    place = urlsplit(told["admin_url"]).path
    assert place == f"/automations/{told['automation_id']}"
    assert 'id="activate-dialog"' in await _text(api, place)

    house = api.house
    vera = await make_person(
        house.database, "vera@example.org", workspace_id=house.workspace_id, role=Role.VIEWER
    )
    async with browser(api, vera.id) as looking, browser(api, FIRST_MEMBER) as owner:
        moved = {"workspace_id": str(house.workspace_id)}
        assert (await looking.ask("POST", "/session/workspace", json=moved)).status_code == 200
        seen = await looking.ask("GET", place)
        refused = await looking.ask("POST", f"{place}/activate")
        assert (seen.status_code, seen.json()["state"]) == (200, "paused")
        assert (refused.status_code, refused.json()["code"]) == (403, "role_too_small")

        shown = (await owner.ask("GET", place)).json()
        assert "get_board" in {one["capability"] for one in shown["grants"]}
        assert shown["definition"]["plan"][0]["config"]["source"]
        forged = await owner.client.post(f"{ROOT}{place}/activate")
        assert forged.json()["code"] == "csrf"
        agreed = await owner.ask("POST", f"{place}/activate")
        assert (agreed.status_code, agreed.json()["state"]) == (200, "active")
        assert (await owner.ask("GET", place)).json()["next_due_at"] is not None


async def test_a_draft_is_read_and_confirmed_in_the_inbox_by_a_browser(bench: Bench) -> None:
    async with office(bench) as here, served(here.bench.house) as api:
        assert 'id="waiting"' in await _text(api, "/inbox")
        draft_id = await here.nudge("The shop is open")
        async with browser(api, FIRST_MEMBER) as owner:
            path = "/drafts?status=pending"
            [waiting] = (await owner.ask("GET", path)).json()["items"]
            assert waiting["id"] == draft_id
            assert "The shop is open" in waiting["preview"]
            assert waiting["arguments"]["text"] == "The shop is open"
            assert waiting["expires_at"] > waiting["created_at"]
            forged = await owner.client.post(f"{ROOT}/drafts/{draft_id}/confirm")
            assert (forged.status_code, here.telegram.requests) == (403, [])
            sent = await owner.ask("POST", f"/drafts/{draft_id}/confirm")
            assert (sent.status_code, sent.json()["status"]) == (200, "confirmed")
            assert (await owner.ask("GET", path)).json()["items"] == []
            [decided] = (await owner.ask("GET", "/drafts")).json()["items"]
            assert (decided["status"], decided["answered_by"]) == ("confirmed", str(FIRST_MEMBER))
        assert [one["text"] for one in here.telegram.messages] == ["The shop is open"]
