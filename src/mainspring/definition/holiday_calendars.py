"""Public holidays of countries and their regions, from the ``holidays`` package.

A region is an ISO 3166 code: a country such as ``DE``, or a country and a subdivision such as
``DE-BY``.
"""

from __future__ import annotations

from datetime import date
from functools import lru_cache

from mainspring.contracts.errors import Finding
from mainspring.definition.strict_json import invalid_value_error
from mainspring.definition.suggestions import suggest_nearest

LONGEST_REGION = 40


@lru_cache(maxsize=512)
def check_region(region: str) -> None:
    """Raise ``Invalid`` when there are no holidays for a region."""
    # Imported on use: it takes a third of a second, and most schedules name no region.
    from holidays import country_holidays
    from holidays.registry import EntityLoader

    country, _, subdivision = region.partition("-")
    countries = sorted(EntityLoader.get_country_codes(include_aliases=False))
    if len(region) > LONGEST_REGION or country not in countries:
        raise invalid_value_error(
            Finding(
                "",
                f"There is no holiday calendar for {region[:LONGEST_REGION]!r}.",
                "unknown_holidays",
                suggest_nearest(country.upper(), countries)
                or "Use an ISO 3166 code, such as DE for Germany or DE-BY for Bavaria.",
            )
        )
    known = country_holidays(country).subdivisions
    if "-" in region and subdivision not in known:
        listed = ", ".join(known[:20])
        raise invalid_value_error(
            Finding(
                "",
                f"The holiday calendar {country} has no region {subdivision!r}.",
                "unknown_holidays",
                f"Use {country} alone, or one of its regions: {listed}." if known else None,
            )
        )


@lru_cache(maxsize=512)
def list_holidays(region: str, year: int) -> frozenset[date]:
    """The public holidays of a region in a year."""
    from holidays import country_holidays

    country, _, subdivision = region.partition("-")
    return frozenset(country_holidays(country, subdiv=subdivision or None, years=year))
