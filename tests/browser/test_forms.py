"""People fill in a public form without signing in, with a keyboard and on a phone."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.kit.bench import document, step
from tests.kit.browsers import (
    PATIENCE_MS,
    BrowserEnvironment,
    BrowserSession,
    violations,
)

_ECHO = step("echo", "transform_data", {"output": "{{ trigger.values | tojson }}"})
_FIELDS: dict[str, Any] = {
    "type": "object",
    "required": ["email"],
    "properties": {
        "email": {"type": "string", "title": "Email", "minLength": 3, "maxLength": 200},
        "days": {"type": "integer", "title": "Days", "minimum": 1, "maximum": 30},
        "from": {"type": "string", "format": "date", "title": "First day"},
        "note": {"type": "object", "title": "Doctor's note"},
    },
}
_PAGES = [
    {"title": "You", "fields": ["email"]},
    {"title": "Your leave", "fields": ["days", "from", "note"]},
]


def _saved_form(session: BrowserSession, name: str, **config: Any) -> tuple[str, str]:
    trigger = {
        "id": "form",
        "type": "form",
        "config": {
            "title": "Ask for leave",
            "text": "Two weeks ahead.\n\nYour lead answers.",
            "submit": "Ask",
            "thank_you": "We will answer you.",
            "min_seconds": 0,
            "pages": _PAGES,
            "files": {"note": {"max_bytes": 100_000, "types": ["application/pdf"]}},
            **config,
        },
    }
    made = session.saved(
        document(_ECHO, name=name, inputs={"schema": _FIELDS}, triggers=[trigger]), active=True
    )
    found = session.ask("GET", f"/automations/{made}/triggers/form")
    return made, "/forms/" + str(found["form_url"]).rpartition("/")[2]


def _runs(session: BrowserSession, automation_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = session.ask("GET", f"/runs?automation_id={automation_id}")[
        "items"
    ]
    return found


def _watched(context: BrowserContext) -> tuple[Page, list[str], list[str]]:
    """A tab, what its console complains about, and what it asks the server for."""
    page, complaints, asked = context.new_page(), [], []
    page.on("console", lambda one: complaints.append(one.text) if one.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda one: asked.append(one.url))
    return page, complaints, asked


def test_a_public_form_is_sent_with_the_keyboard(
    browser_session: BrowserSession, strangers: BrowserContext
) -> None:
    automation, link = _saved_form(browser_session, "leave")
    page, complaints, asked = _watched(strangers)
    page.goto(link)
    expect(page.get_by_role("heading", name="Ask for leave")).to_be_visible()
    expect(page.get_by_text("Page 1 of 2")).to_be_visible()
    assert violations(page) == []
    page.get_by_label("Email").focus()
    page.keyboard.type("ada@example.com")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Page 2 of 2")).to_be_visible()
    # The new page is announced: the focus moves to its heading.
    expect(page.get_by_role("heading", name="Ask for leave")).to_be_focused()
    page.get_by_label("Days").fill("40")
    page.get_by_label("First day").fill("2026-12-01")
    page.set_input_files(
        "input[type=file]",
        {"name": "note.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.4 ill"},
    )
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("alert")).to_contain_text("Some fields need your attention.")
    assert violations(page) == []
    assert _runs(browser_session, automation) == []
    # The input is kept, on both pages.
    expect(page.get_by_label("First day")).to_have_value("2026-12-01")
    page.get_by_label("Days").fill("4")
    page.get_by_role("button", name="Ask").dblclick()
    expect(page.get_by_role("status")).to_contain_text("We will answer you.")
    assert violations(page) == []
    [run] = _runs(browser_session, automation)
    inputs = browser_session.ask("GET", f"/runs/{run['id']}")["inputs"]
    assert (inputs["email"], inputs["days"], inputs["from"]) == (
        "ada@example.com",
        4,
        "2026-12-01",
    )
    assert inputs["note"]["name"] == "note.pdf"
    # Nothing of the signed-in application is loaded, and nothing of the workspace is asked for.
    api = {url.partition("/api/v1/")[2].partition("/")[0] for url in asked if "/api/" in url}
    # The part that checks values is loaded once the server answers its liveness probe.
    assert api <= {"forms", "health"}
    assert not any("/assets/app-" in url for url in asked)
    assert [one for one in complaints if "422" not in one] == []


def test_a_form_is_readable_on_a_phone_in_german_and_in_the_dark(
    browser_session: BrowserSession, browser_environment: BrowserEnvironment
) -> None:
    _, link = _saved_form(browser_session, "phone")
    browser: Browser = browser_environment.browser
    context = browser.new_context(
        base_url=browser_environment.server.address,
        viewport={"width": 360, "height": 640},
        locale="de-DE",
        color_scheme="dark",
    )
    context.set_default_timeout(PATIENCE_MS)
    try:
        page, complaints, _ = _watched(context)
        page.goto(link)
        expect(page.get_by_text("Seite 1 von 2")).to_be_visible()
        assert violations(page) == []
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 360
        page.get_by_label("Email").fill("ada@example.com")
        page.get_by_role("button", name="Weiter").click()
        expect(page.get_by_role("button", name="Zurück")).to_be_visible()
        page.get_by_role("button", name="Zurück").click()
        expect(page.get_by_label("Email")).to_have_value("ada@example.com")
        assert complaints == []
    finally:
        context.close()


def test_the_link_is_shown_with_the_trigger_and_can_be_replaced(
    browser_session: BrowserSession, strangers: BrowserContext
) -> None:
    automation, link = _saved_form(browser_session, "shown")
    page = browser_session.open(f"/automations/{automation}/triggers")
    expect(page.get_by_text(link)).to_be_visible()
    expect(page.get_by_text("Anyone with the link can start this automation.")).to_be_visible()
    expect(page.get_by_role("link", name="Open the form")).to_have_attribute("href", link)
    page.get_by_role("button", name="Replace link").click()
    page.get_by_role("dialog").get_by_role("button", name="Replace link").click()
    expect(page.get_by_text(link)).to_have_count(0)
    other = strangers.new_page()
    other.goto(link)
    expect(other.get_by_text("There is no form at this link.")).to_be_visible()
