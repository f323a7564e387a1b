"""The codex at the page: read, installed with a setting, upgraded knowingly, taken away, back."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.kit.browsers import BrowserSession, violations
from tests.kit.codex import automation, says


def test_a_recipe_is_read_installed_with_a_setting_uninstalled_and_recovered(
    browser_session: BrowserSession,
) -> None:
    page = browser_session.open("/codex?search=uptime")
    page.get_by_role("link", name="Uptime check").click()
    expect(page.get_by_text("It may send requests to")).to_be_visible()
    expect(page.get_by_text("is installed with it.")).to_be_visible()
    form = page.get_by_role("form", name="Install Uptime check")
    form.get_by_label("The host, such as").fill("not a host")
    form.get_by_role("button", name="Install").click()
    # What is refused is said, and what was written stays.
    expect(form.get_by_text("Give only the host name")).to_be_visible()
    expect(form.get_by_label("The host, such as")).to_have_value("not a host")
    form.get_by_label("The host, such as").fill("www.example.com")
    form.get_by_role("button", name="Install").click()
    done = page.get_by_role("status").filter(has_text="Installed")
    expect(done).to_contain_text("Nothing runs yet")
    expect(done.get_by_role("link", name="Uptime check")).to_be_visible()

    page.goto("/codex?tab=installed")
    page.get_by_role("button", name="Uninstall Uptime", exact=True).click()
    question = page.get_by_role("dialog")
    # The board is used by the automation: that is said before it goes.
    expect(question.get_by_text("These depend on it")).to_be_visible()
    expect(question.get_by_role("listitem")).to_contain_text(["Uptime check"])
    question.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Uninstall Uptime check").click()
    page.get_by_role("dialog").get_by_role("button", name="Uninstall").click()
    expect(page.get_by_role("link", name="Uptime check", exact=True)).not_to_be_visible()
    page.get_by_role("tab", name="Uninstalled").click()
    page.get_by_role("button", name="Recover Uptime check").click()
    expect(page.get_by_role("heading", name="No uninstalled recipes")).to_be_visible()
    page.get_by_role("tab", name="Installed", exact=True).click()
    expect(page.get_by_role("link", name="Uptime check", exact=True)).to_be_visible()


def test_a_newer_version_is_offered_with_what_it_changes(browser_session: BrowserSession) -> None:
    browser_session.ask("POST", "/recipes", {"package": automation("greeter")})
    browser_session.ask("POST", "/recipes/greeter/apply", {})
    page = browser_session.open("/codex?tab=installed")
    expect(page.get_by_text("version 1.0.0 of")).to_be_visible()
    expect(page.get_by_text("update available")).not_to_be_visible()
    newer = automation("greeter", [says("good morning")], version="1.1.0")
    browser_session.ask("POST", "/recipes", {"package": newer})
    page.reload()
    expect(page.get_by_text("update available: 1.1.0")).to_be_visible()
    page.get_by_role("button", name="Show upgrade of Greeter").click()
    expect(page.get_by_text("The new version:")).to_be_visible()
    expect(page.get_by_text('"hello" → "good morning"')).to_be_visible()
    page.get_by_role("button", name="Compare the definitions").click()
    expect(page.get_by_label("Differences of the definition")).to_contain_text("good morning")
    assert violations(page) == []
    page.get_by_role("button", name="Upgrade to 1.1.0").click()
    expect(page.get_by_text("version 1.1.0 of")).to_be_visible()
    expect(page.get_by_text("update available")).not_to_be_visible()
