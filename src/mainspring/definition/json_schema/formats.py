"""Formats: the standard ones are enforced by the validator, these are our own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import resources
from types import MappingProxyType

from mainspring.contracts.errors import Invalid
from mainspring.definition.cron import parse_cron

# What a text of each format looks like, for the sentence that asks for it.
LOOKS_LIKE: Mapping[str, str] = MappingProxyType(
    {
        "date-time": "a date and time with its offset, such as 2026-01-31T09:00:00Z",
        "date": "a date such as 2026-01-31",
        "time": "a time with its offset, such as 09:00:00Z",
        "duration": "an ISO 8601 duration such as PT15M or P1D",
        "email": "an e-mail address",
        "idn-email": "an e-mail address",
        "hostname": "a host name",
        "idn-hostname": "a host name",
        "ipv4": "an IPv4 address",
        "ipv6": "an IPv6 address",
        "uri": "a complete URI such as https://example.com/path",
        "uri-reference": "a URI or a relative reference",
        "iri": "a complete IRI",
        "iri-reference": "an IRI or a relative reference",
        "uri-template": "a URI template",
        "uuid": "a UUID",
        "json-pointer": "a JSON pointer such as /plan/0/step_id",
        "relative-json-pointer": "a relative JSON pointer",
        "regex": "a regular expression",
        "iana-timezone": "a time zone name such as Europe/Berlin",
        "cron": "a cron expression of five fields such as 0 9 * * 1-5",
    }
)


@lru_cache(maxsize=1)
def timezones() -> frozenset[str]:
    """Every zone name of the time zone package, spelled as the database spells it.

    The machine's own files are not asked: a definition must mean the same everywhere.
    """
    listed = resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8")
    names = {line.strip() for line in listed.splitlines()}
    # Factory is the name of a clock that nobody has set.
    return frozenset(names - {"", "Factory"})


def is_timezone(text: str) -> bool:
    return text in timezones()


def is_cron(text: str) -> bool:
    try:
        parse_cron(text)
    except Invalid:
        return False
    return True


def own_formats() -> dict[str, Callable[[str], bool]]:
    return {"iana-timezone": is_timezone, "cron": is_cron}
