"""Formats: the standard ones are enforced by the validator, these are our own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import resources
from types import MappingProxyType

from mainspring.contracts.errors import Invalid
from mainspring.definition.cron import parse_cron
from mainspring.definition.suggestions import suggest_nearest

# An example text for each format, for error messages.
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

# Abbreviations that mean one zone to nearly everybody but are not zone names.
_ABBREVIATIONS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("ET", "EDT"), "America/New_York"),
        **dict.fromkeys(("CT", "CDT"), "America/Chicago"),
        **dict.fromkeys(("MT", "MDT"), "America/Denver"),
        **dict.fromkeys(("PT", "PST", "PDT"), "America/Los_Angeles"),
        **dict.fromkeys(("AKST", "AKDT"), "America/Anchorage"),
        **dict.fromkeys(("CEST", "MEZ", "MESZ"), "Europe/Berlin"),
        **dict.fromkeys(("AET", "AEST", "AEDT"), "Australia/Sydney"),
        **dict.fromkeys(("NZST", "NZDT"), "Pacific/Auckland"),
        "EEST": "Europe/Helsinki",
        "WEST": "Europe/Lisbon",
        "MSK": "Europe/Moscow",
        "JST": "Asia/Tokyo",
        "KST": "Asia/Seoul",
        "HKT": "Asia/Hong_Kong",
        "SGT": "Asia/Singapore",
        "PKT": "Asia/Karachi",
        "SAST": "Africa/Johannesburg",
        "EAT": "Africa/Nairobi",
        "WAT": "Africa/Lagos",
    }
)
_LONGEST_ABBREVIATION = 4


@lru_cache(maxsize=1)
def list_timezones() -> frozenset[str]:
    """Every zone name of the tzdata package, spelled as the database spells it.

    The system's own zone files are not used: a definition must mean the same on every machine.
    """
    listed = resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8")
    names = {line.strip() for line in listed.splitlines()}
    # Factory is a placeholder zone for a clock that was never set.
    return frozenset(names - {"", "Factory"})


def is_timezone(text: str) -> bool:
    return text in list_timezones()


def suggest_timezone(text: str) -> str | None:
    """The time zone that was most likely meant, as a question.

    Different abbreviations are different zones, however similar their spelling, so for a text as
    short as an abbreviation only an exact match counts.
    """
    wanted = text.strip().casefold().replace(" ", "_")
    meant = _ABBREVIATIONS.get(text.strip().upper())
    if meant is not None:
        return f"Did you mean {meant!r}?"
    same = [name for name in list_timezones() if wanted in _spellings(name)]
    if same:
        return f"Did you mean {min(same, key=lambda name: (len(name), name))!r}?"
    if len(wanted) <= _LONGEST_ABBREVIATION:
        return None
    return suggest_nearest(text, list_timezones())


def _spellings(name: str) -> tuple[str, str]:
    """A zone's full name and its city, in lower case."""
    lowered = name.casefold()
    return lowered, lowered.rpartition("/")[2]


def is_cron(text: str) -> bool:
    try:
        parse_cron(text)
    except Invalid:
        return False
    return True


def list_own_formats() -> dict[str, Callable[[str], bool]]:
    return {"iana-timezone": is_timezone, "cron": is_cron}
