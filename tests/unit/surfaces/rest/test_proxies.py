"""Whose address a request has: nobody lends themselves another one."""

from __future__ import annotations

import pytest
from fastapi import Request

from mainspring.surfaces.rest.routes.session import caller_address


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, ["203.0.113.7"], "127.0.0.1"),
        (1, [], "127.0.0.1"),
        (1, ["203.0.113.7"], "203.0.113.7"),
        (1, ["198.51.100.1, 203.0.113.7"], "203.0.113.7"),
        (1, ["198.51.100.1", "203.0.113.7"], "203.0.113.7"),
        (2, ["198.51.100.1, 203.0.113.7,10.0.0.2"], "203.0.113.7"),
        (2, ["203.0.113.7"], "127.0.0.1"),
        (1, ["nobody"], "127.0.0.1"),
        (1, ["2001:db8::7"], "2001:db8::7"),
    ],
)
def test_only_what_our_own_proxies_add_is_believed(
    proxies: int, forwarded: list[str], address: str
) -> None:
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    scope = {"type": "http", "headers": headers, "client": ("127.0.0.1", 5)}

    assert caller_address(Request(scope), proxies) == address
