"""Loads every integration of this installation and configures its addresses.

Built-in folders and third-party packages provide the same function ``integration``, which takes the
addresses that an operator has set and returns an ``Integration``. A third-party package is found by
its entry point and can never replace a built-in one.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Final

import mainspring.integrations
from mainspring.contracts.errors import Invalid
from mainspring.contracts.integration import Integration
from mainspring.contracts.manifest import get_source_name
from mainspring.settings import Settings

GROUP: Final = "mainspring.integrations"
Build = Callable[[Mapping[str, str]], Integration]


def load_integrations(settings: Settings) -> tuple[Integration, ...]:
    """The integrations of this installation, each with the operator's settings for it."""
    addresses = configured_addresses(settings)
    found = {one.id: one for one in _load_built_in(addresses)}
    for point in entry_points(group=GROUP):
        one = _load_entry_point(point, addresses)
        for other in found.values():
            twice = reserved_names(one) & reserved_names(other)
            if twice:
                raise Invalid(
                    f"The package behind {point.value} brings {', '.join(sorted(twice))}, and "
                    f"{other.name} has that name already.",
                    code="integration_twice",
                    suggestion="Uninstall one of the two.",
                )
        found[one.id] = one
    return tuple(found[name] for name in sorted(found))


def reserved_names(one: Integration) -> frozenset[str]:
    """All names that identify an integration: none of them may identify another one as well."""
    return frozenset(
        (
            one.id,
            get_source_name(one.manifest),
            *(source.name for source in one.sources),
            *(adapter.kind for adapter in one.adapters),
            *(capability.id for capability in one.capabilities),
            *(event.type for event in one.events),
        )
    )


def configured_addresses(settings: Settings) -> dict[str, str]:
    """The addresses that the operator set for integrations, by id."""
    # An integration may have a setting of its own, such as MAINSPRING_ACME_URL.
    own = {
        name: getattr(settings, f"{name}_url")
        for name in _list_built_in()
        if hasattr(settings, f"{name}_url")
    }
    return {**own, **settings.integration_urls}


def _list_built_in() -> Iterator[str]:
    shelf = mainspring.integrations
    return (folder.name for folder in pkgutil.iter_modules(shelf.__path__) if folder.ispkg)


def _load_built_in(addresses: Mapping[str, str]) -> Iterator[Integration]:
    for name in _list_built_in():
        folder = importlib.import_module(f"{mainspring.integrations.__name__}.{name}")
        build: Build = folder.integration
        yield build(addresses)


def _load_entry_point(point: EntryPoint, addresses: Mapping[str, str]) -> Integration:
    """A third-party integration; errors name its package."""
    try:
        made = point.load()(addresses)
    except (Exception, SystemExit) as error:
        raise Invalid(
            f"The integration {point.name} of {point.value} could not be built: {error}",
            code="integration_broken",
            suggestion="Fix or uninstall that package.",
        ) from error
    if not isinstance(made, Integration):
        raise Invalid(
            f"{point.value} does not answer an integration.",
            code="integration_broken",
            suggestion="Its entry point must name a function that answers one.",
        )
    return made
