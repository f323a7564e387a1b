"""The page on a phone: it can be installed, and notifications lead to what waits.

The browser has no push service here. A stand-in for its `PushManager` is subscribed to a push
service of the tests; everything else is real: the permission, the service worker under the page's
policy, the server's message, and the notification that the worker shows for it.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, CDPSession, Page, Worker, expect

from tests.acceptance.commands import definition, step
from tests.acceptance.server import SOON
from tests.kit.browsers import (
    PATIENCE_MS,
    PHONE,
    BrowserEnvironment,
    BrowserSession,
    opened_house,
    settle,
    signed_in,
    violations,
)
from tests.kit.processes import wait_until
from tests.kit.push_service import SubscribedBrowser

# What `subscribe` answers in a browser that reaches its push service.
PUSH_MANAGER = """(given) => {
  const key = "test.push.subscription";
  const made = () => ({
    endpoint: given.endpoint,
    toJSON: () => given,
    unsubscribe: async () => {
      localStorage.removeItem(key);
      return true;
    },
  });
  PushManager.prototype.getSubscription = async () => localStorage.getItem(key) ? made() : null;
  PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
    if (!userVisibleOnly || applicationServerKey.length !== 65) throw new TypeError("not allowed");
    localStorage.setItem(key, "yes");
    return made();
  };
}"""
IPHONE = """delete globalThis.PushManager;
Object.defineProperty(navigator, "userAgent", { get: () => "Mozilla/5.0 (iPhone) Safari/604.1" });
"""
KEPT = "localStorage.getItem('test.push.subscription')"
SHOWN = """async () => (await self.registration.getNotifications())
  .map(({ title, body, data, tag }) => ({ title, body, link: data.link, tag }))"""
COUNT = """() => {
  const own = self.registration.showNotification.bind(self.registration);
  self.counted = 0;
  self.registration.showNotification = async (...given) => {
    await own(...given);
    self.counted += 1;
  };
}"""
# A click by a person may open a window; one by a script may not, so the address is noted instead.
CLICK = """async (tag) => {
  const [notification] = await self.registration.getNotifications({ tag });
  const opened = [];
  const own = Object.getPrototypeOf(self.clients).openWindow;
  self.clients.openWindow = async (address) => void opened.push(address);
  const waits = [];
  const event = new NotificationEvent("notificationclick", { notification });
  event.waitUntil = (one) => waits.push(one);
  self.dispatchEvent(event);
  await Promise.allSettled(waits);
  delete self.clients.openWindow;
  if (self.clients.openWindow !== own) throw new Error("it was not put back");
  return opened;
}"""


@pytest.fixture
def phone(browser_environment: BrowserEnvironment) -> Iterator[BrowserSession]:
    """A browser as large as a phone, whose person allows notifications."""
    with opened_house(browser_environment, viewport=PHONE) as made:
        made.context.grant_permissions(["notifications"], origin=made.address)
        yield made
        # The person is the same in every test.
        for one in made.ask("GET", "/me/push")["subscriptions"]:
            made.ask("DELETE", f"/me/push/subscriptions/{one['id']}")


def _subscribed(session: BrowserSession) -> SubscribedBrowser:
    """The browser has a push service from now on."""
    key = session.ask("GET", "/me/push")["public_key"]
    made = session.environment.push.subscribe(key)
    session.context.add_init_script(f"({PUSH_MANAGER})({json.dumps(made.as_json())})")
    return made


def _kinds(session: BrowserSession) -> list[str]:
    (one,) = session.ask("GET", "/me/push")["subscriptions"]
    found: list[str] = one["kinds"]
    return found


class Devices:
    """The browser's side of a push: hands a message to the service worker."""

    def __init__(self, page: Page) -> None:
        self._session: CDPSession = page.context.new_cdp_session(page)
        self._registrations: dict[str, str] = {}
        self._session.on("ServiceWorker.workerRegistrationUpdated", self._hear)
        self._session.send("ServiceWorker.enable")

    def _hear(self, result: dict[str, Any]) -> None:
        for one in result["registrations"]:
            self._registrations[one["scopeURL"]] = one["registrationId"]

    def push(self, page: Page, data: str) -> None:
        origin = re.match(r"https?://[^/]+", page.url)
        assert origin is not None
        scope = f"{origin[0]}/"
        wait_until(lambda: bool(page.title()) and scope in self._registrations, SOON, "a worker")
        self._session.send(
            "ServiceWorker.deliverPushMessage",
            {"origin": origin[0], "registrationId": self._registrations[scope], "data": data},
        )


def _watch(context: BrowserContext) -> Worker:
    """The worker of the page, which counts the notifications that it has shown."""
    wait_until(lambda: bool(context.service_workers), SOON, "a service worker")
    worker = context.service_workers[0]
    worker.evaluate(COUNT)
    return worker


def _shown(worker: Worker, count: int) -> list[dict[str, Any]]:
    """What is shown once so many notifications were; a browser forgets one if asked too early."""
    wait_until(lambda: worker.evaluate("self.counted") == count, SOON, "a notification")
    found: list[dict[str, Any]] = worker.evaluate(SHOWN)
    return found


def test_a_browser_finds_the_page_installable(browser_session: BrowserSession) -> None:
    page = browser_session.open("/")
    session = page.context.new_cdp_session(page)
    manifest = session.send("Page.getAppManifest")
    assert manifest["url"] == f"{browser_session.address}/manifest.webmanifest"
    assert manifest["errors"] == []
    assert json.loads(manifest["data"])["display"] == "standalone"
    # A context of a test is a private window, which installs nothing; nothing else is missing.
    errors = session.send("Page.getInstallabilityErrors")["installabilityErrors"]
    assert {one["errorId"] for one in errors} <= {"in-incognito"}


def test_notifications_are_turned_on_tested_chosen_and_turned_off(phone: BrowserSession) -> None:
    made = _subscribed(phone)
    page = phone.open("/settings/you")
    part = page.get_by_role("region", name="Notifications on this device")
    expect(part).to_contain_text("add the page to the Home Screen first")
    part.get_by_role("button", name="Turn on notifications").click()
    expect(part.get_by_text("On", exact=True)).to_be_visible()
    worker = _watch(phone.context)
    assert worker.url == f"{phone.address}/service-worker.js"
    assert page.evaluate("async () => (await navigator.serviceWorker.ready).active.state") in {
        "activating",
        "activated",
    }
    part.get_by_role("button", name="Send a test notification").click()
    expect(page.get_by_text("A test notification was sent.")).to_be_visible()
    devices = Devices(page)
    devices.push(page, json.dumps(made.shown[-1]))
    (shown,) = _shown(worker, 1)
    assert shown == made.shown[-1]
    part.get_by_label("Failures").uncheck()
    expect(part.get_by_label("Failures")).not_to_be_checked()
    wait_until(lambda: _kinds(phone) == ["drafts", "questions"], SOON, "what was chosen")
    # A page that is opened later knows that it is on.
    page.reload()
    expect(part.get_by_text("On", exact=True)).to_be_visible()
    assert violations(page) == []
    part.get_by_role("button", name="Turn off").click()
    expect(part.get_by_role("button", name="Turn on notifications")).to_be_visible()
    assert phone.ask("GET", "/me/push")["subscriptions"] == []


def test_a_notification_opens_the_draft_in_its_workspace(phone: BrowserSession) -> None:
    made = _subscribed(phone)
    page = phone.open("/settings/you")
    page.get_by_role("button", name="Turn on notifications").click()
    expect(page.get_by_role("button", name="Turn off")).to_be_visible()
    plan = [step("tell", "send_email", to=["ada@example.com"], subject="The tower clock", text="x")]
    written = dict(definition("Write to Ada", plan))
    phone.ended(phone.started_run(phone.saved(written)))
    # The server sends it by itself.
    wait_until(lambda: bool(made.shown), SOON, "the server's message")
    worker = _watch(phone.context)
    Devices(page).push(page, json.dumps(made.shown[0]))
    (shown,) = _shown(worker, 1)
    assert (shown["title"], shown["body"]) == ("A message waits for your approval", "Write to Ada")
    # Meanwhile the person looks at another workspace.
    other = phone.ask("POST", "/workspaces", {"name": "Elsewhere"})
    phone.ask("POST", "/session/workspace", {"workspace_id": other["id"]})
    (address,) = worker.evaluate(CLICK, shown["tag"])
    assert address == phone.address + made.shown[0]["link"]
    assert worker.evaluate(SHOWN) == []
    opened = phone.context.new_page()
    opened.goto(address)
    expect(opened.locator(".delivered")).to_contain_text("The tower clock")
    assert "workspace=" not in opened.url
    assert "item=" in opened.url
    assert phone.ask("GET", "/session")["workspace"]["id"] == phone.workspace_id


def test_a_notification_leads_nowhere_but_to_this_site(phone: BrowserSession) -> None:
    _subscribed(phone)
    page = phone.open("/settings/you")
    page.get_by_role("button", name="Turn on notifications").click()
    expect(page.get_by_role("button", name="Turn off")).to_be_visible()
    worker, devices = _watch(phone.context), Devices(page)
    for number, link in enumerate(("https://evil.example/inbox", "//evil.example", "javascript:1")):
        devices.push(page, json.dumps({"title": "x", "link": link, "tag": f"{number}"}))
        _shown(worker, number + 1)
        assert worker.evaluate(CLICK, f"{number}") == [f"{phone.address}/"]
    # Something is shown for a message that cannot be read, too.
    devices.push(page, "not json")
    (shown,) = _shown(worker, 4)
    assert (shown["title"], shown["link"]) == ("Mainspring", "/inbox")


def test_what_was_removed_elsewhere_is_forgotten_here(phone: BrowserSession) -> None:
    _subscribed(phone)
    page = phone.open("/settings/you")
    page.get_by_role("button", name="Turn on notifications").click()
    expect(page.get_by_role("button", name="Turn off")).to_be_visible()
    (one,) = phone.ask("GET", "/me/push")["subscriptions"]
    phone.ask("DELETE", f"/me/push/subscriptions/{one['id']}")
    settle(page, "/")
    wait_until(lambda: page.evaluate(KEPT) is None, SOON, "the end of the subscription")


def test_another_device_is_listed_and_removed(phone: BrowserSession) -> None:
    _subscribed(phone)
    page = phone.open("/settings/you")
    page.get_by_role("button", name="Turn on notifications").click()
    expect(page.get_by_role("button", name="Turn off")).to_be_visible()
    # As if this were another browser.
    page.evaluate("localStorage.clear()")
    page.reload()
    others = page.get_by_role("list", name="Other devices that get notifications")
    expect(others.get_by_role("listitem")).to_have_count(1)
    expect(page.get_by_role("button", name="Turn on notifications")).to_be_visible()
    others.get_by_role("button", name=re.compile("^Remove")).click()
    expect(others).to_have_count(0)
    assert phone.ask("GET", "/me/push")["subscriptions"] == []


def test_signing_out_ends_notifications_in_this_browser(phone: BrowserSession) -> None:
    environment = phone.environment
    with contextlib.closing(
        environment.browser.new_context(
            base_url=phone.address,
            storage_state=signed_in(environment.server, environment.browser),
            permissions=["notifications"],
        )
    ) as context:
        made = environment.push.subscribe(phone.ask("GET", "/me/push")["public_key"])
        context.add_init_script(f"({PUSH_MANAGER})({json.dumps(made.as_json())})")
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto("/settings/you")
        page.get_by_role("button", name="Turn on notifications").click()
        expect(page.get_by_role("button", name="Turn off")).to_be_visible()
        assert len(phone.ask("GET", "/me/push")["subscriptions"]) == 1
        page.get_by_role("button", name=re.compile("owner", re.IGNORECASE)).click()
        page.get_by_role("menuitem", name="Sign out").click()
        page.wait_for_url("**/sign-in")
        assert phone.ask("GET", "/me/push")["subscriptions"] == []
        assert page.evaluate(KEPT) is None


def test_a_browser_that_cannot_have_notifications_says_why(phone: BrowserSession) -> None:
    phone.context.add_init_script(IPHONE)
    page = phone.open("/settings/you")
    part = page.get_by_role("region", name="Notifications on this device")
    expect(part).to_contain_text("first add this page to the Home Screen")
    expect(part.get_by_role("button")).to_have_count(0)
