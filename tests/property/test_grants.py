"""A narrower grant never allows more."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.contracts.grant import Grant
from mainspring.definition.grants import (
    decide_call,
    find_missing_grants,
    is_covered_by,
    match,
    merge_grants,
)

# Few values, so that equal ones meet often; those that Python takes for equal are among them.
scalars = st.sampled_from([0, 1, 2, 1.0, True, False, None, "a", "b", "1", ""])
nested = st.one_of(
    scalars, st.lists(scalars, max_size=2), st.dictionaries(st.sampled_from("xy"), scalars)
)
hosts = st.sampled_from(
    [
        "a.example",
        "A.example.",
        "b.example",
        "a.example:443",
        "a.example:80",
        "b.example:8080",
        "[::1]",
        "[0::1]:80",
        "not a host",
        "*",
    ]
)
urls = st.sampled_from(
    [
        "https://a.example/",
        "http://a.example/",
        "https://a.example:8080/",
        "http://b.example:8080",
        "http://[::1]/",
        "https://x@a.example/",
        "https://c.example/",
        "nothing",
        None,
    ]
)
capabilities = st.sampled_from(["call", "call", "http_fetch", "http_fetch", "admin_call"])


def _bounds() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "id": st.one_of(nested, st.lists(nested, max_size=3)),
            "max_n": st.one_of(st.integers(-2, 3), scalars),
            "hosts": st.lists(hosts, max_size=3),
        },
    )


def _arguments() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "id": st.one_of(nested, st.lists(nested, max_size=3)),
            "max_n": st.one_of(st.integers(-3, 4), scalars),
            "url": urls,
        },
    )


grants = st.builds(Grant, capabilities, _bounds())


@st.composite
def narrowed(draw: st.DrawFn) -> tuple[Grant, Grant]:
    """A grant, and one made of it by taking something away."""
    outer = draw(grants)
    params = dict(outer.params)
    for key, bound in outer.params.items():
        if key == "max_n" and isinstance(bound, int) and not isinstance(bound, bool):
            params[key] = bound - draw(st.integers(0, 2))
        elif isinstance(bound, list):
            params[key] = [entry for entry in bound if draw(st.booleans())]
    for key, bound in draw(_bounds()).items():
        # Without hosts a fetch goes nowhere, so naming some would not be taking away.
        if key != "hosts" or outer.capability != "http_fetch":
            params.setdefault(key, bound)
    return outer, Grant(outer.capability, params)


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[Grant, Grant]:
    """Two grants that differ in few places: alike enough that one may cover the other."""
    outer, inner = draw(narrowed())
    params = dict(inner.params)
    for key, bound in inner.params.items():
        change = draw(st.sampled_from(["keep", "keep", "twin", "twin", "wrap", "drop", "other"]))
        if change == "wrap" and key != "hosts":
            params[key] = [bound]
        elif change == "twin" and isinstance(bound, int):
            params[key] = int(bound) if isinstance(bound, bool) else bool(bound)
        elif change == "twin" and key == "hosts":
            params[key] = draw(st.lists(hosts, min_size=1, max_size=2))
        elif change == "drop":
            del params[key]
        elif change == "other":
            params[key] = draw(_bounds()).get(key, bound)
    return outer, Grant(outer.capability, params)


@st.composite
def calls(draw: st.DrawFn, *near: Grant) -> dict[str, Any]:
    """Arguments, most of them taken from what the grants name."""
    arguments = draw(_arguments())
    for grant in near:
        for key, bound in grant.params.items():
            choices = [bound, [bound]]
            if isinstance(bound, list) and bound:
                choices += [draw(st.sampled_from(bound)), bound[:1]]
            chosen = draw(st.sampled_from(choices))
            if key == "hosts" and bound:
                arguments["url"] = f"https://{draw(st.sampled_from(bound))}/"
            elif draw(st.integers(0, 3)):
                arguments[key] = chosen
    return arguments


@given(narrowed(), st.data())
def test_taking_something_away_never_allows_more(
    pair: tuple[Grant, Grant], data: st.DataObject
) -> None:
    outer, inner = pair
    arguments = data.draw(calls(inner))
    if match(inner, inner.capability, arguments):
        assert match(outer, outer.capability, arguments)


@settings(max_examples=400, deadline=None)
@given(neighbours(), st.data())
def test_what_a_covered_grant_allows_its_cover_allows(
    pair: tuple[Grant, Grant], data: st.DataObject
) -> None:
    outer, inner = pair
    arguments = data.draw(calls(inner))

    if is_covered_by(outer, inner) and match(inner, inner.capability, arguments):
        assert match(outer, outer.capability, arguments)


@given(st.lists(grants, max_size=4), st.data())
def test_merging_grants_changes_nothing_that_is_allowed(
    several: list[Grant], data: st.DataObject
) -> None:
    arguments = data.draw(calls(*several))
    capability = data.draw(capabilities)
    before = bool(decide_call(several, capability, arguments))
    assert bool(decide_call(merge_grants(several), capability, arguments)) == before


@given(st.lists(neighbours(), max_size=3), st.data())
def test_grants_that_lack_nothing_allow_all_that_was_needed(
    pairs: list[tuple[Grant, Grant]], data: st.DataObject
) -> None:
    allowed = [outer for outer, _ in pairs]
    for _, need in pairs:
        arguments = data.draw(calls(need))
        if not find_missing_grants([need], allowed) and match(need, need.capability, arguments):
            assert decide_call(allowed, need.capability, arguments)
