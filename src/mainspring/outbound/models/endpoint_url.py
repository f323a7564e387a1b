"""The address of a model's server, read once by the reader that also dials it."""

from __future__ import annotations

from typing import Final

from mainspring.contracts.errors import Finding, Invalid
from mainspring.outbound.egress import parse_url

MAX_ADDRESS: Final = 500


def read_base_url(text: str) -> str:
    """Its one spelling: scheme, host, port and path, without a slash at the end."""
    if not set(text).isdisjoint("?#"):
        raise _wrong("The address ends with its path; it has no query and no fragment.")
    try:
        target = parse_url(text, MAX_ADDRESS)
    except Invalid as error:
        raise _wrong(error.detail) from None
    return target.url.rstrip("/")


def host_and_port(base_url: str) -> str:
    """The exact host:port that is dialled for it."""
    return parse_url(base_url).pair


def _wrong(sentence: str) -> Invalid:
    finding = Finding("/base_url", sentence, "base_url", "Write it like https://host/v1.")
    return Invalid(sentence, code="base_url", findings=[finding], suggestion=finding.suggestion)
