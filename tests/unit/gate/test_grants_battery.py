"""The battery of grants: calls that must pass, calls that must not, through the gate itself.

Every call goes through a real gate with a real registry. ``http_fetch`` is the real one, with
a name server that knows nobody: a call that was allowed is answered by that name server,
and everything that is refused is refused before.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.capability import Annotations, Audience, Capability, Effect
from mainspring.contracts.context import Actor, CallContext, RunRef
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Registry
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.gate.call import Gate
from mainspring.gate.capability_call import CapabilityCall, CapabilityResult
from mainspring.gate.policy import RunPolicy
from mainspring.gate.run_budget import RunBudget
from mainspring.outbound.egress import Egress
from mainspring.outbound.http_fetch import http_fetch_capability
from mainspring.outbound.mail import SmtpMailer
from mainspring.store.database import Database, DatabaseClock
from mainspring.store.database_source import ExternalDatabaseSource
from mainspring.workspace.vault import Vault

# What was sent is counted in the database, which the battery does without.
LIMITS = Limits(egress_day_bytes=0)
ANYTHING: dict[str, Any] = {"type": "object"}
WORKSPACE, RUN, AUTOMATION = UUID(int=1), UUID(int=2), UUID(int=3)
READ = "rows.read"

YES = "passes"
NO = "not_granted"
NOBODY = "unknown_capability"
# It names the granted host in a spelling that not everybody reads alike, and is not sent.
STRICT = "bad_url"

Case = tuple[str, str, Mapping[str, Any], str, str]


@dataclass
class Called:
    """The capabilities of the battery, and which of them were really called."""

    made: list[str] = field(default_factory=list)

    def capability(self, name: str, audience: Audience = Audience.ANYONE) -> Capability:
        async def handler(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
            self.made.append(name)
            return {}

        hints = Annotations(effect=Effect.READ, audience=audience)
        return Capability(name, name, ANYTHING, ANYTHING, handler, annotations=hints)


async def _knows_nobody(host: str, port: int) -> Sequence[str]:
    raise socket.gaierror(socket.EAI_NONAME, "not known")


def _gate(called: Called, tmp_path: Path) -> Gate:
    source = ExternalDatabaseSource("postgresql://nobody@127.0.0.1:9/none")
    database = Database(source, name="none", pool_size=1, idle_seconds=1)
    registry = Registry(
        capabilities=(
            http_fetch_capability(LIMITS),
            called.capability(READ),
            called.capability("rows.write"),
            called.capability("people.only", Audience.PEOPLE),
            called.capability("admin_wipe", Audience.ADMINISTRATORS),
            called.capability("wipe", Audience.ADMINISTRATORS),
            called.capability("runs.only", Audience.RUNS),
        )
    )
    clock = DatabaseClock()
    return Gate(
        registry,
        database,
        Egress(LIMITS, resolve=_knows_nobody),
        Vault(database, tmp_path / "key", LIMITS),
        clock,
        LIMITS,
        mailer=SmtpMailer(None, "a@example.com", LIMITS, clock),
    )


def _ask(grants: Sequence[Grant], capability: str, arguments: Mapping[str, Any]) -> CapabilityCall:
    return CapabilityCall(
        capability,
        arguments,
        Actor(WORKSPACE, "run", RUN),
        RunRef(RUN, AUTOMATION, "a"),
        1,
        RunPolicy(tuple(grants)),
        RunBudget(Decimal(1)),
    )


def _names() -> list[Case]:
    """Which name was granted, and which is called."""
    found: list[Case] = [
        (READ, READ, {}, YES, "the very name"),
        ("rows.write", READ, {}, NO, "another one was granted"),
        ("admin_wipe", "admin_wipe", {}, NO, "administrators' are never granted"),
        ("wipe", "wipe", {}, NO, "nor those that do not show it by their name"),
        ("people.only", "people.only", {}, NO, "people's are never granted"),
        ("runs.only", "runs.only", {}, YES, "a run may be granted what is for runs"),
        ("runs.only", READ, {}, NO, "one grant is not another"),
    ]
    alike = [
        "Rows.read",
        "ROWS.READ",
        "rows.Read",
        "rows.read ",
        " rows.read",
        "rows.read.",
        "rows..read",
        "rows.read\n",
        "rows.read\t",
        "rows.read\x00",
        "rows.reаd",
        "rоws.read",
        "rows․read",
        "rows。read",
        "rows.read\u200b",
        "\ufeffrows.read",
        "rows.ｒead",
        "rows/read",
        "rows_read",
        "rows.rea",
        "rows.readd",
        "rows",
        "read",
        "",
        "*",
        "rows.*",
        "rows.read*",
        "rows.read;",
        "rows.read\u0301",
        "rows%2eread",
        "http_fetch ",
        "HTTP_FETCH",
        "http-fetch",
        "http_fetсh",
    ]
    found += [(READ, name, {}, NOBODY, f"looks like it: {name!r}") for name in alike]
    # The grant itself may be misspelt; then it is for nothing that there is.
    found += [(name, READ, {}, NO, f"granted in another spelling: {name!r}") for name in alike[:29]]
    return found


# A pin, an argument, the verdict and why.
_LONG = "b" * 5_000
PINS: list[tuple[Any, Any, str, str]] = [
    ("b1", "b1", YES, "equal"),
    ("b1", "b2", NO, "another"),
    ("b1", "B1", NO, "case"),
    ("b1", "b1 ", NO, "a trailing space"),
    ("b1", " b1", NO, "a leading space"),
    ("b1", "b1.", NO, "a trailing dot"),
    ("b1", "ｂ1", NO, "full width"),
    ("b1", "b1\u200b", NO, "an invisible sign"),
    ("b1", "b1\x00", "json_nul", "a NUL is no text at all"),
    ("b1", "", NO, "empty"),
    ("b1", None, NO, "null"),
    ("b1", ["b1"], NO, "a list for a scalar"),
    ("b1", ["b1", "b2"], NO, "a longer list"),
    ("b1", {"b1": "b1"}, NO, "an object for a scalar"),
    ("b1", True, NO, "true"),
    ("b1", "*", NO, "a star"),
    ("b1", "b1,b2", NO, "two in one"),
    ("é", "é", YES, "one spelling of an accent"),
    ("é", "e\u0301", NO, "another spelling of it"),
    (_LONG, _LONG, YES, "long and equal"),
    (_LONG, _LONG + "b", NO, "long and longer"),
    (1, 1, YES, "equal numbers"),
    (1, 1.0, YES, "one is one point nought"),
    (1.0, 1, YES, "and the other way round"),
    (1, "1", NO, "text for a number"),
    ("1", 1, NO, "a number for text"),
    (1, True, NO, "true is not one"),
    (True, 1, NO, "one is not true"),
    (True, True, YES, "true"),
    (True, False, NO, "false"),
    (True, "true", NO, "the word"),
    (0, False, NO, "false is not nought"),
    (False, 0, NO, "nought is not false"),
    (False, None, NO, "null is not false"),
    (0, -0.0, YES, "nought has no sign"),
    (1, 1.0000001, NO, "nearly"),
    (9007199254740993, 9007199254740992.0, NO, "nearly, where floats are coarse"),
    (None, None, YES, "null pinned"),
    (None, "", NO, "empty for null"),
    (None, 0, NO, "nought for null"),
    (None, "null", NO, "the word for null"),
    ({"a": 1}, {"a": 1}, YES, "an equal object"),
    ({"a": 1}, {"a": 1.0}, YES, "equal inside"),
    ({"a": 1}, {"a": True}, NO, "true is not one inside either"),
    ({"a": 1}, {"a": 1, "b": 2}, NO, "something nested more"),
    ({"a": 1}, {}, NO, "something nested less"),
    ({"a": 1}, {"A": 1}, NO, "a key in another case"),
    ({"a": 1}, [{"a": 1}], NO, "a list around it"),
    ({"a": {"b": [1]}}, {"a": {"b": [1]}}, YES, "deep and equal"),
    ({"a": {"b": [1]}}, {"a": {"b": [1, 2]}}, NO, "deep and more"),
    ({}, {}, YES, "an empty object"),
    ({}, {"a": 1}, NO, "an object that is not empty"),
    (["a", "b"], "a", YES, "a member"),
    (["a", "b"], "c", NO, "no member"),
    (["a", "b"], "A", NO, "a member in another case"),
    (["a", "b"], ["a"], YES, "a subset"),
    (["a", "b"], ["b", "a"], YES, "all of them, in another order"),
    (["a", "b"], ["a", "a"], YES, "one of them twice"),
    (["a", "b"], [], YES, "none of them"),
    (["a", "b"], ["a", "c"], NO, "one that is not among them"),
    (["a", "b"], ["a", "b", "c"], NO, "a superset"),
    (["a", "b"], [["a"]], NO, "a list in the list"),
    (["a", "b"], {"a": "b"}, NO, "an object"),
    (["a", "b"], {}, NO, "an empty object"),
    (["a", "b"], "ab", NO, "joined"),
    (["a", "b"], "a,b", NO, "joined with a comma"),
    (["a", "b"], None, NO, "null"),
    (["a", "b"], True, NO, "true"),
    ([1, 2], 1.0, YES, "a member by value"),
    ([1, 2], True, NO, "true is no member"),
    ([1, 2], "1", NO, "text is no member"),
    ([1, 2], [1, True], NO, "true among members"),
    ([True], True, YES, "true is a member of a list of it"),
    ([True], 1, NO, "one is not"),
    ([None], None, YES, "null is a member of a list of it"),
    ([], "a", NO, "an empty list names nobody"),
    ([], [], YES, "and none of them is none of them"),
    ([["a"]], ["a"], YES, "a list as a member"),
    ([{"a": 1}], {"a": 1}, YES, "an object as a member"),
    ([{"a": 1}], {"a": 1, "b": 1}, NO, "a larger object is none"),
]


def _ceilings() -> list[tuple[Any, Any, str, str]]:
    """A ceiling, an argument of that very name, the verdict and why."""
    return [
        (100, 100, YES, "equal"),
        (100, 99, YES, "below"),
        (100, 0, YES, "nought"),
        (100, -1, YES, "below nought; the schema judges that"),
        (100, 100.0, YES, "equal as a fraction"),
        (100, 99.999, YES, "a fraction below"),
        (100, 101, NO, "above"),
        (100, 100.0001, NO, "a fraction above"),
        (100, 10**18, NO, "far above"),
        (100, Decimal(100), "json_type", "a decimal is no JSON, equal"),
        (100, Decimal("100.01"), "json_type", "or above"),
        (100, "99", NO, "text"),
        (100, "", NO, "empty text"),
        (100, True, NO, "true is no number"),
        (100, False, NO, "nor is false"),
        (100, None, NO, "null"),
        (100, [99], NO, "a list"),
        (100, {"value": 1}, NO, "an object"),
        (100, float("nan"), "json_constant", "not a number"),
        (100, float("inf"), "json_constant", "no end"),
        (100, float("-inf"), "json_constant", "no beginning"),
        (0, 0, YES, "a ceiling of nought"),
        (0, 1, NO, "above nought"),
        (-5, -5, YES, "a ceiling below nought"),
        (-5, -4, NO, "above it"),
        (1.5, 1, YES, "a ceiling that is a fraction"),
        (1.5, 2, NO, "above it"),
        ("100", 1, NO, "a ceiling that is text bounds nothing and lets nothing through"),
        (True, 1, NO, "nor does one that is true"),
        (None, 1, NO, "nor one that is null"),
        ([100], 1, NO, "nor a list"),
    ]


# A url, the verdict and why, where one host is granted without a port.
URLS: list[tuple[Any, str, str]] = [
    ("https://api.example.com/x", YES, "the host"),
    ("http://api.example.com/x", YES, "without encryption"),
    ("https://api.example.com", YES, "without a path"),
    ("https://api.example.com?q=1", YES, "a query at once"),
    ("https://api.example.com#f", YES, "a fragment at once"),
    ("https://api.example.com:443/x", YES, "its usual port"),
    ("https://api.example.com:8443/x", YES, "another port: the entry names none"),
    ("https://API.EXAMPLE.COM/x", YES, "in capitals"),
    ("HTTPS://api.example.com/x", YES, "the scheme in capitals"),
    ("https://api.example.com./x", STRICT, "the root's dot"),
    ("https://api.example.com../x", NO, "two dots are no name"),
    ("https://.api.example.com/x", NO, "a dot before"),
    ("https://example.com/x", NO, "the parent"),
    ("https://x.api.example.com/x", NO, "a child"),
    ("https://api.example.com.evil.example/x", NO, "the name inside another"),
    ("https://evilapi.example.com/x", NO, "something before it"),
    ("https://api.example.co/x", NO, "shorter"),
    ("https://api-example.com/x", NO, "a hyphen for a dot"),
    ("https://evil.example/api.example.com", NO, "only in the path"),
    ("https://evil.example/?u=https://api.example.com", NO, "only in the query"),
    ("https://evil.example#@api.example.com/", NO, "only in the fragment"),
    ("https://api.example.com@evil.example/x", NO, "as a user's name"),
    ("https://user@api.example.com/x", NO, "a user's name before the right host"),
    ("https://user:pw@api.example.com/x", NO, "with a password"),
    ("https://@api.example.com/x", NO, "an empty user"),
    ("https://api.example.com:443@evil.example/", NO, "a port that is a password"),
    ("https://api.example.com\\@evil.example/", NO, "a backslash"),
    ("https://evil.example\\.api.example.com/", NO, "a backslash before"),
    ("https:\\\\api.example.com\\x", NO, "backslashes for slashes"),
    ("https:/api.example.com/x", NO, "one slash"),
    ("https:api.example.com/x", NO, "no slash"),
    ("//api.example.com/x", NO, "no scheme"),
    ("api.example.com/x", NO, "neither"),
    ("ftp://api.example.com/x", NO, "another scheme"),
    ("file:///api.example.com", NO, "a file"),
    ("javascript://api.example.com/%0a", NO, "a script"),
    (" https://api.example.com/x", NO, "a space before"),
    ("\thttps://api.example.com/x", NO, "a tab before"),
    ("https://api.exa\tmple.com/x", NO, "a tab inside"),
    ("https://api.exa\nmple.com/x", NO, "a line's end inside"),
    ("https://api.example.com\t/x", NO, "a tab after"),
    ("https://api.example.com /x", NO, "a space after"),
    ("https://api%2eexample.com/x", NO, "percent-encoded"),
    ("https://%61pi.example.com/x", NO, "one letter percent-encoded"),
    ("https://api.example.com%2f@evil.example/", NO, "an encoded slash"),
    ("https://api.example.com%00.evil.example/", NO, "an encoded NUL"),
    ("https://api.example.com:abc/x", NO, "a port that is no number"),
    ("https://api.example.com:99999/x", NO, "a port that there is not"),
    ("https://api.example.com:-1/x", NO, "a port below nought"),
    ("https://api.example.com:４４３/x", NO, "a port in other digits"),
    ("https://аpi.example.com/x", NO, "a letter of another alphabet"),
    ("https://api.exаmple.com/x", NO, "another such letter"),
    ("https://api。example。com/x", STRICT, "dots of another script"),
    ("https://ａpi.example.com/x", STRICT, "full width"),
    ("https://api.example.com\u200b/x", STRICT, "an invisible sign"),
    ("https://xn--pi-8cd.example.com/x", NO, "the look-alike in its plain spelling"),
    ("https://93.184.216.34/x", NO, "an address"),
    ("https://[2001:db8::1]/x", NO, "another address"),
    ("https://", NO, "nothing"),
    ("", NO, "no text"),
    (None, NO, "null"),
    (1, NO, "a number"),
    (["https://api.example.com/x"], NO, "a list"),
    ({"href": "https://api.example.com/x"}, NO, "an object"),
    (SecretText(("https://api.example.com", SecretRef("k"))), NO, "a secret in the host"),
    (SecretText((SecretRef("k"), "/x")), NO, "one that is the host"),
]

# Hosts of a grant, a url, the verdict and why.
HOSTS: list[tuple[list[Any], Any, str, str]] = [
    (["api.example.com:443"], "https://api.example.com/x", YES, "a port that is the usual one"),
    (["api.example.com:443"], "https://api.example.com:443/", YES, "a port, said"),
    (["api.example.com:443"], "http://api.example.com/x", NO, "http is another port"),
    (["api.example.com:443"], "https://api.example.com:8443/", NO, "another port"),
    (["api.example.com:80"], "http://api.example.com/x", YES, "the usual port of http"),
    (["api.example.com:8443"], "https://api.example.com:08443/", STRICT, "a nought before it"),
    (["API.Example.COM"], "https://api.example.com/x", YES, "the entry in capitals"),
    (["api.example.com."], "https://api.example.com/x", YES, "the entry with the root's dot"),
    (["*.example.com"], "https://api.example.com/x", NO, "a star names nobody"),
    (["*"], "https://api.example.com/x", NO, "a star alone"),
    ([""], "https://api.example.com/x", NO, "an empty entry"),
    ([None], "https://api.example.com/x", NO, "an entry that is null"),
    ([["api.example.com"]], "https://api.example.com/x", NO, "a list in the list"),
    (["https://api.example.com"], "https://api.example.com/x", NO, "an entry is no url"),
    (["api.example.com/x"], "https://api.example.com/x", NO, "an entry has no path"),
    ([], "https://api.example.com/x", NO, "no hosts at all"),
    (["a.example", "b.example"], "https://b.example/", YES, "one of two"),
    (["a.example", "b.example"], "https://c.example/", NO, "none of two"),
    (["bücher.example"], "https://bücher.example/", YES, "an accent on both sides"),
    (["bücher.example"], "https://xn--bcher-kva.example/", YES, "and its plain spelling"),
    (["xn--bcher-kva.example"], "https://bücher.example/", YES, "and the other way round"),
    (["BÜCHER.example"], "https://xn--bcher-kva.example/", YES, "the entry in capitals"),
    (["bücher.example"], "https://BÜCHER.example/", STRICT, "the url in accented capitals"),
    (["bücher.example"], "https://bucher.example/", NO, "without the accent"),
    (["faß.example"], "https://fass.example/", NO, "two letters are not that one"),
    (["[2606:4700::1]"], "https://[2606:4700:0:0::2]/", NO, "another address"),
    (["2606:4700::1"], "https://[2606:4700::1]/", NO, "an entry without brackets is none"),
    (["[2606:4700::1]"], "https://[2606:4700::1%25eth0]/", NO, "a zone"),
    (["93.184.216.34"], "https://93.184.216.35/", NO, "the next address"),
    (["93.184.216.34"], "https://1572395042/", NO, "an address as one number"),
    (["93.184.216.34"], "https://0x5db8d822/", NO, "an address in hexadecimal"),
]


def _calls() -> list[tuple[Sequence[Grant], str, Mapping[str, Any], str, str]]:
    """The whole battery as grants, call, verdict and why."""
    found: list[tuple[Sequence[Grant], str, Mapping[str, Any], str, str]] = [
        ([Grant(granted, {})], called, arguments, verdict, why)
        for granted, called, arguments, verdict, why in _names()
    ]
    for pin, value, verdict, why in PINS:
        found.append(([Grant(READ, {"x": pin})], READ, {"x": value}, verdict, f"pin, {why}"))
    for most, value, verdict, why in _ceilings():
        bounds = [Grant(READ, {"max_rows": most})]
        found.append((bounds, READ, {"max_rows": value}, verdict, f"ceiling, {why}"))
    one: list[Any] = ["api.example.com"]
    for hosts, url, verdict, why in [*((one, *entry) for entry in URLS), *HOSTS]:
        found.append(
            ([Grant("http_fetch", {"hosts": hosts})], "http_fetch", {"url": url}, verdict, why)
        )
    return found + _mixed()


def _mixed() -> list[tuple[Sequence[Grant], str, Mapping[str, Any], str, str]]:
    url = {"url": "https://api.example.com/x"}
    pin = [Grant(READ, {"board_id": "b1", "max_rows": 10})]
    two = [Grant(READ, {"board_id": "b1", "max_rows": 10}), Grant(READ, {"board_id": "b2"})]
    both = {"hosts": ["api.example.com"], "method": ["GET", "HEAD"]}
    return [
        ([], READ, {}, NO, "no grants"),
        (pin, READ, {"board_id": "b1", "max_rows": 10}, YES, "both pins"),
        (pin, READ, {"board_id": "b1", "max_rows": 10, "more": 1}, YES, "an argument beside them"),
        (pin, READ, {"board_id": "b1"}, NO, "one is left out"),
        (pin, READ, {"max_rows": 10}, NO, "the other is left out"),
        (pin, READ, {}, NO, "both are left out"),
        (pin, READ, {"board_id": "b1", "max_rows": 11}, NO, "one is widened"),
        (pin, READ, {"board_id": "b2", "max_rows": 1}, NO, "the other is"),
        (pin, READ, {"Board_id": "b1", "max_rows": 1}, NO, "a key in another case"),
        (pin, READ, {"board_id ": "b1", "max_rows": 1}, NO, "a key with a space"),
        (pin, READ, {"bоard_id": "b1", "max_rows": 1}, NO, "a key in another alphabet"),
        (pin, READ, {"arguments": {"board_id": "b1", "max_rows": 1}}, NO, "one level down"),
        (two, READ, {"board_id": "b1", "max_rows": 10}, YES, "the first grant"),
        (two, READ, {"board_id": "b2", "max_rows": 99}, YES, "the second, which has no ceiling"),
        (two, READ, {"board_id": "b1", "max_rows": 99}, NO, "half of each"),
        (two, READ, {"board_id": ["b1", "b2"], "max_rows": 1}, NO, "both at once"),
        ([Grant("http_fetch", {})], "http_fetch", url, NO, "hosts are left out"),
        ([Grant("http_fetch", {"hosts": "api.example.com"})], "http_fetch", url, NO, "no list"),
        ([Grant("http_fetch", {"hosts": None})], "http_fetch", url, NO, "null for hosts"),
        ([Grant("http_fetch", {"hosts": {"api.example.com": 1}})], "http_fetch", url, NO, "object"),
        ([Grant("http_fetch", both)], "http_fetch", {**url, "method": "GET"}, YES, "both"),
        ([Grant("http_fetch", both)], "http_fetch", {**url, "method": "POST"}, NO, "other method"),
        ([Grant("http_fetch", both)], "http_fetch", {**url, "method": "get"}, NO, "method's case"),
        ([Grant("http_fetch", both)], "http_fetch", url, NO, "a pinned method left to its default"),
        ([Grant(READ, {"hosts": ["a.example"]})], READ, {"url": "https://a.example"}, YES, "url"),
        ([Grant(READ, {"hosts": ["a.example"]})], READ, {"url": "https://b.example"}, NO, "url"),
        ([Grant(READ, {"hosts": ["a.example"]})], READ, {}, NO, "hosts of a call without a url"),
    ]


def _verdict(answer: CapabilityResult) -> str:
    """What became of a call; one that only the name server could not help with was let through."""
    if answer.error is None:
        return YES
    code = answer.error.code
    return YES if code == "name_not_found" else code


def test_the_battery_is_large_enough() -> None:
    assert len(_calls()) >= 200


async def test_no_call_of_the_battery_passes_or_is_refused_that_should_not(tmp_path: Path) -> None:
    called = Called()
    gate = _gate(called, tmp_path)
    wrong = []
    for grants, name, arguments, expected, why in _calls():
        called.made.clear()
        answer = await gate.call(_ask(grants, name, arguments))
        verdict = _verdict(answer)
        reached = bool(called.made) if name != "http_fetch" else verdict == YES
        refused_well = expected != NO or answer.outcome == "denied"
        if verdict != expected or reached != (expected == YES) or not refused_well:
            wrong.append(f"{why}: {name} {arguments!r} under {grants!r} came to {verdict}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["admin_wipe", "wipe", "people.only"])
async def test_no_grant_opens_what_is_for_people(name: str, tmp_path: Path) -> None:
    called = Called()
    answer = await _gate(called, tmp_path).call(_ask([Grant(name, {})], name, {}))
    assert answer.error is not None
    assert (answer.outcome, answer.error.code, called.made) == ("denied", NO, [])
