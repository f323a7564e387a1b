"""A definition that asks for what no automation may have is refused when it is saved."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.capability import Annotations, Audience, Capability
from mainspring.contracts.limits import Limits
from mainspring.definition.validate import validate
from mainspring.registry import build_registry
from tests.kit.bench import document, step

ANYTHING: dict[str, Any] = {"type": "object"}


async def _never(ctx: Any, arguments: Any) -> None:
    raise AssertionError("a definition calls nothing")


def _capability(name: str, audience: Audience) -> Capability:
    hints = Annotations(audience=audience)
    return Capability(name, name, ANYTHING, ANYTHING, _never, annotations=hints)


REGISTRY = build_registry(
    Limits(),
    capabilities=(
        _capability("test.echo", Audience.ANYONE),
        _capability("test.people", Audience.PEOPLE),
        _capability("admin_sweep", Audience.ADMINISTRATORS),
        _capability("test.sweep", Audience.ADMINISTRATORS),
    ),
)


@pytest.mark.parametrize(
    ("name", "code", "sentence", "way_out"),
    [
        ("test.people", "never_granted", "test.people is for people and", "Remove it."),
        ("admin_sweep", "never_granted", "admin_sweep is for administrators and", "Remove it."),
        ("test.sweep", "never_granted", "test.sweep is for administrators and", "Remove it."),
        ("admin_unheard_of", "never_granted", "admin_unheard_of is for", "Remove it."),
        ("test.ecoh", "unknown_capability", "'test.ecoh'", "'test.echo'"),
        ("Test.echo", "unknown_capability", "'Test.echo'", "'test.echo'"),
    ],
)
@pytest.mark.parametrize("place", ["grant", "step"])
def test_a_grant_or_a_step_that_names_it_is_refused_by_name(
    place: str, name: str, code: str, sentence: str, way_out: str
) -> None:
    if place == "grant":
        expected = document(
            step("a", "test.echo"),
            grants=[
                {"capability": "test.echo"},
                {"capability": name},
            ],
        )
        pointer = "/grants/1/capability"
    else:
        expected, pointer = document(step("a", name)), "/plan/0/action"
        code = "unknown_action" if code == "unknown_capability" else code
    findings = validate(expected, REGISTRY, Limits()).findings
    found = [one for one in findings if one.pointer == pointer]
    assert code in {one.code for one in found}, findings
    output = " ".join(one.detail for one in found)
    assert sentence in output
    assert way_out in " ".join(one.suggestion or "" for one in found)


def test_nobody_is_pointed_to_what_can_never_be_granted() -> None:
    expected = document(step("a", "test.echo"), grants=[{"capability": "test.poeple"}])
    findings = validate(expected, REGISTRY, Limits()).findings
    assert findings
    assert not [one for one in findings if "test.people" in (one.suggestion or "")]


def test_hosts_of_a_grant_are_a_list_of_exact_names() -> None:
    bad: tuple[Any, ...] = (
        "example.com",
        None,
        {},
        ["*.example.com"],
        ["https://example.com"],
        [""],
        [1],
        ["exa mple.com"],
        ["user@example.com"],
    )
    for hosts in bad:
        grants = [{"capability": "http_fetch", "params": {"hosts": hosts}}]
        url = {"url": "https://example.com/"}
        findings = validate(
            document(step("a", "http_fetch", url), grants=grants), REGISTRY, Limits()
        ).findings
        assert any(one.pointer.startswith("/grants/0/params") for one in findings), hosts
    missing = [{"capability": "http_fetch"}]
    (first, *_) = validate(
        document(step("a", "http_fetch", {"url": "https://example.com/"}), grants=missing),
        REGISTRY,
        Limits(),
    ).findings
    assert (first.pointer, first.code) == ("/grants/0/params", "hosts_missing")
