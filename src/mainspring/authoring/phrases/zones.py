"""Places and abbreviations that name a time zone, and ambiguous ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from zoneinfo import ZoneInfo

_CITIES: Final = {
    "Europe": "berlin london paris madrid rome amsterdam brussels vienna zurich lisbon dublin "
    "stockholm oslo copenhagen helsinki warsaw prague budapest athens istanbul bucharest sofia "
    "kiev moscow belgrade zagreb vilnius riga tallinn luxembourg ljubljana bratislava",
    "America": "new_york chicago denver los_angeles toronto vancouver mexico_city sao_paulo bogota "
    "lima santiago caracas phoenix anchorage halifax havana montevideo panama boise detroit",
    "Asia": "tokyo seoul shanghai singapore hong_kong kolkata dubai bangkok jakarta manila taipei "
    "karachi dhaka riyadh tehran jerusalem kathmandu colombo baghdad beirut tashkent almaty",
    "Africa": "kigali lagos cairo johannesburg nairobi casablanca accra addis_ababa algiers tunis",
    "Australia": "sydney melbourne brisbane perth adelaide darwin hobart",
    "Pacific": "auckland honolulu fiji",
    "Atlantic": "reykjavik",
}
_OTHER_NAMES: Final = {
    "nyc": "America/New_York",
    "la": "America/Los_Angeles",
    "san francisco": "America/Los_Angeles",
    "sf": "America/Los_Angeles",
    "seattle": "America/Los_Angeles",
    "boston": "America/New_York",
    "miami": "America/New_York",
    "washington": "America/New_York",
    "atlanta": "America/New_York",
    "austin": "America/Chicago",
    "dallas": "America/Chicago",
    "houston": "America/Chicago",
    "montreal": "America/Toronto",
    "munich": "Europe/Berlin",
    "hamburg": "Europe/Berlin",
    "frankfurt": "Europe/Berlin",
    "cologne": "Europe/Berlin",
    "milan": "Europe/Rome",
    "barcelona": "Europe/Madrid",
    "geneva": "Europe/Zurich",
    "lyon": "Europe/Paris",
    "manchester": "Europe/London",
    "edinburgh": "Europe/London",
    "kyiv": "Europe/Kyiv",
    "beijing": "Asia/Shanghai",
    "mumbai": "Asia/Kolkata",
    "delhi": "Asia/Kolkata",
    "bangalore": "Asia/Kolkata",
    "tel aviv": "Asia/Jerusalem",
    "abu dhabi": "Asia/Dubai",
    "osaka": "Asia/Tokyo",
    "cape town": "Africa/Johannesburg",
    "são paulo": "America/Sao_Paulo",
    "zürich": "Europe/Zurich",
    "wellington": "Pacific/Auckland",
    "buenos aires": "America/Argentina/Buenos_Aires",
    "hanoi": "Asia/Bangkok",
}
_COUNTRIES: Final = {
    "germany": "Europe/Berlin",
    "german": "Europe/Berlin",
    "france": "Europe/Paris",
    "french": "Europe/Paris",
    "uk": "Europe/London",
    "british": "Europe/London",
    "england": "Europe/London",
    "italy": "Europe/Rome",
    "italian": "Europe/Rome",
    "japan": "Asia/Tokyo",
    "japanese": "Asia/Tokyo",
    "india": "Asia/Kolkata",
    "indian": "Asia/Kolkata",
    "rwanda": "Africa/Kigali",
    "rwandan": "Africa/Kigali",
    "kenya": "Africa/Nairobi",
    "nigeria": "Africa/Lagos",
    "israel": "Asia/Jerusalem",
    "israeli": "Asia/Jerusalem",
    "ireland": "Europe/Dublin",
    "irish": "Europe/Dublin",
    "poland": "Europe/Warsaw",
    "polish": "Europe/Warsaw",
    "sweden": "Europe/Stockholm",
    "swedish": "Europe/Stockholm",
    "norway": "Europe/Oslo",
    "denmark": "Europe/Copenhagen",
    "finland": "Europe/Helsinki",
    "austria": "Europe/Vienna",
    "switzerland": "Europe/Zurich",
    "swiss": "Europe/Zurich",
    "netherlands": "Europe/Amsterdam",
    "dutch": "Europe/Amsterdam",
    "belgium": "Europe/Brussels",
    "greece": "Europe/Athens",
    "turkey": "Europe/Istanbul",
    "china": "Asia/Shanghai",
    "korea": "Asia/Seoul",
    "south africa": "Africa/Johannesburg",
    "egypt": "Africa/Cairo",
    "thailand": "Asia/Bangkok",
    "iceland": "Atlantic/Reykjavik",
    "czech": "Europe/Prague",
    "hungary": "Europe/Budapest",
    "argentina": "America/Argentina/Buenos_Aires",
    "colombia": "America/Bogota",
    "peru": "America/Lima",
}
_AMERICA: Final = (
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Los_Angeles",
)
_MANY: Final = {
    "us": _AMERICA,
    "usa": _AMERICA,
    "american": _AMERICA,
    "united states": _AMERICA,
    "canada": ("America/Toronto", "America/Winnipeg", "America/Edmonton", "America/Vancouver"),
    "australia": (
        "Australia/Sydney",
        "Australia/Brisbane",
        "Australia/Adelaide",
        "Australia/Perth",
    ),
    "brazil": ("America/Sao_Paulo", "America/Manaus", "America/Rio_Branco"),
    "russia": ("Europe/Moscow", "Asia/Yekaterinburg", "Asia/Novosibirsk", "Asia/Vladivostok"),
    "mexico": ("America/Mexico_City", "America/Tijuana", "America/Cancun"),
    "indonesia": ("Asia/Jakarta", "Asia/Makassar", "Asia/Jayapura"),
    "european": ("Europe/London", "Europe/Berlin", "Europe/Athens"),
    "europe": ("Europe/London", "Europe/Berlin", "Europe/Athens"),
}
_SHORT: Final = {
    "utc": "UTC",
    "gmt": "UTC",
    "cet": "Europe/Berlin",
    "cest": "Europe/Berlin",
    "mez": "Europe/Berlin",
    "et": "America/New_York",
    "est": "America/New_York",
    "edt": "America/New_York",
    "pt": "America/Los_Angeles",
    "pst": "America/Los_Angeles",
    "pdt": "America/Los_Angeles",
    "mt": "America/Denver",
    "mst": "America/Denver",
    "mdt": "America/Denver",
    "ct": "America/Chicago",
    "cdt": "America/Chicago",
    "jst": "Asia/Tokyo",
    "kst": "Asia/Seoul",
    "sgt": "Asia/Singapore",
    "hkt": "Asia/Hong_Kong",
    "aest": "Australia/Sydney",
    "aedt": "Australia/Sydney",
    "aet": "Australia/Sydney",
    "nzst": "Pacific/Auckland",
    "nzdt": "Pacific/Auckland",
    "msk": "Europe/Moscow",
    "eet": "Europe/Helsinki",
    "eest": "Europe/Helsinki",
    "wet": "Europe/Lisbon",
    "cat": "Africa/Maputo",
    "eat": "Africa/Nairobi",
    "wat": "Africa/Lagos",
    "sast": "Africa/Johannesburg",
    "pkt": "Asia/Karachi",
    "eastern": "America/New_York",
    "pacific": "America/Los_Angeles",
    "mountain": "America/Denver",
    "central": "America/Chicago",
    "central european": "Europe/Berlin",
    "eastern european": "Europe/Helsinki",
    "us eastern": "America/New_York",
    "us pacific": "America/Los_Angeles",
    "us central": "America/Chicago",
    "us mountain": "America/Denver",
    "eastern standard": "America/New_York",
    "pacific standard": "America/Los_Angeles",
    "greenwich mean": "UTC",
    "india standard": "Asia/Kolkata",
}
_UNSURE: Final = {
    "ist": ("Asia/Kolkata", "Asia/Jerusalem", "Europe/Dublin"),
    "cst": ("America/Chicago", "Asia/Shanghai", "America/Havana"),
    "bst": ("Europe/London", "Asia/Dhaka"),
    "ast": ("America/Halifax", "Asia/Riyadh"),
    "gst": ("Asia/Dubai", "Atlantic/South_Georgia"),
    "sst": ("Asia/Singapore", "Pacific/Pago_Pago"),
}
# Also ordinary words: alone they name a zone only in upper case or before "time".
_WORDS_TOO: Final = frozenset({"et", "pt", "mt", "ct", "cat", "eat", "wat", "wet", "la", "est"})


@dataclass(frozen=True, slots=True)
class ZoneMention:
    """A zone, or the zones that a word may mean, and what was assumed."""

    zones: tuple[str, ...]
    said: str = ""
    supposed: str = ""


def _places() -> dict[str, tuple[str, ...]]:
    places = {
        city.replace("_", " "): (f"{part}/{_title_case(city)}",)
        for part, cities in _CITIES.items()
        for city in cities.split()
    }
    for table in (_OTHER_NAMES, _COUNTRIES):
        places |= {name: (zone,) for name, zone in table.items()}
    return places | _MANY


def _title_case(name: str) -> str:
    return "_".join(part.capitalize() for part in name.split("_"))


_PLACES: Final = _places()
_SHORTS: Final = {**{name: (zone,) for name, zone in _SHORT.items()}, **_UNSURE}


def _either(names: dict[str, tuple[str, ...]]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


_OFFSET: Final = re.compile(r"(etc / )?(?:utc|gmt) ([+-]) (\d{1,2})(?: : ?(\d\d))?(?! \S*day)\b")
# Year-round offsets with a fraction of an hour.
_UNEVEN: Final = {
    "+3:30": "Asia/Tehran",
    "+4:30": "Asia/Kabul",
    "+5:30": "Asia/Kolkata",
    "+5:45": "Asia/Kathmandu",
    "+6:30": "Asia/Yangon",
    "+8:45": "Australia/Eucla",
    "+9:30": "Australia/Darwin",
    "-9:30": "Pacific/Marquesas",
}
_IANA: Final = re.compile(
    r"(?:\( )?([a-z]{2,12}) / ([a-z]{2,20}(?: _ [a-z]{1,20}){0,3})"
    r"(?: / ([a-z]{2,20}(?: _ [a-z]{1,20}){0,3}))?"
)
_NAMED: Final = re.compile(
    rf"(?:(?:in|by) )?(?:the )?(?:({_either(_PLACES)})|({_either(_SHORTS)}))"
    r"(?: (?:local|standard|daylight|summer))? (?:time ?zone|timezone|time)\b"
)
_SHORT_ALONE: Final = re.compile(rf"(?:in )?({_either(_SHORTS)})\b")
_PLACE_ALONE: Final = re.compile(
    rf"(?:\( |, |in |- )?(?:the )?({_either(_PLACES)})(?: \))?(?= (?!/)|$)"
)


def find_zone(
    text: str, at: int, original: str, after_time: bool
) -> tuple[ZoneMention, int] | None:
    """Find the zone at a position, and the end of its words."""
    return _offset(text, at) or _iana(text, at) or _name(text, at, original, after_time)


def _offset(text: str, at: int) -> tuple[ZoneMention, int] | None:
    found = _OFFSET.match(text, at)
    if found is None:
        return None
    sign, hours = found[2], int(found[3])
    said = f"{sign}{hours}" if not int(found[4] or 0) else f"{sign}{hours}:{found[4]}"
    if found[1]:
        # POSIX zone names invert the sign, and a full name is taken literally.
        sign = "-" if sign == "+" else "+"
    name = f"Etc/GMT{'-' if sign == '+' else '+'}{hours}" if hours else "UTC"
    zone = _UNEVEN.get(said) if ":" in said and not found[1] else name if is_zone(name) else None
    if zone is None or (":" in said and found[1]):
        return ZoneMention(("UTC", "Europe/London"), f"UTC{said}"), found.end()
    message = f"UTC{sign}{said[1:]}"
    supposed = f"{message} all year, without summer time"
    if found[1] and hours:
        supposed = f"{name} is {supposed}, because the names of these zones count westward"
    elif ":" in said:
        supposed = f"{message} is read as the time of {zone}"
    return ZoneMention((zone,), message, supposed), found.end()


def _iana(text: str, at: int) -> tuple[ZoneMention, int] | None:
    found = _IANA.match(text, at)
    if found is None:
        return None
    name = "/".join(_title_case(part.replace(" ", "")) for part in found.groups() if part)
    return (ZoneMention((name,), name), found.end()) if is_zone(name) else None


def is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


def _name(text: str, at: int, original: str, after_time: bool) -> tuple[ZoneMention, int] | None:
    found = _NAMED.match(text, at)
    if found is not None:
        name = found[1] or found[2]
        return _place(name, found[1] is None), found.end()
    found = _SHORT_ALONE.match(text, at)
    if found is not None and _is_meant(found[1], original, after_time):
        return _place(found[1], True), found.end()
    found = _PLACE_ALONE.match(text, at)
    if found is not None and after_time:
        return _place(found[1], False), found.end()
    return None


def _is_meant(name: str, original: str, after_time: bool) -> bool:
    """Report whether an abbreviation is used as a zone and not as a word."""
    if name in {"utc", "gmt"}:
        return True
    if not after_time:
        return False
    if len(name) > 4:
        return name.capitalize() in original
    return name not in _WORDS_TOO or re.search(rf"\b{name.upper()}\b", original) is not None


def _place(name: str, short: bool) -> ZoneMention:
    zones = _SHORTS[name] if short else _PLACES[name]
    said = name.upper() if short and len(name) <= 4 else name.title()
    supposed = ""
    if short and len(zones) == 1 and zones[0] != "UTC":
        supposed = f"{said} is read as the time of {zones[0]}, summer time included"
    return ZoneMention(zones, said, supposed)
