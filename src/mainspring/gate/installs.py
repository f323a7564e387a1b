"""What is installed here: the integrations that can write, each with its actions.

Every workspace has each of them, under an id that is the same everywhere and for ever. An
action is a write of the integration, taken by the arguments of its capability or by words of
its own. What is the installation's to know, such as a bot token, is no part of an input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID, uuid5

from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import Clash, Finding
from mainspring.contracts.integration import Integration, Offer
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import Validator, compile_schema
from mainspring.definition.words import did_you_mean
from mainspring.workspace.pages.content import Writing
from mainspring.workspace.pages.discovery import action_page

_NAMESPACE: Final = UUID("642acfec-65b5-47fb-97e6-1180a73dcba3")


def install_id_of(integration: str) -> UUID:
    """The id under which an integration of the shelf is installed in every workspace."""
    return uuid5(_NAMESPACE, integration)


@dataclass(frozen=True, slots=True)
class Deed:
    """One action of an installed integration."""

    capability: Capability
    offer: Offer
    shape: Validator

    def preview(self, given: Mapping[str, Any]) -> str:
        """What would happen, and what a person must know beside that."""
        if self.capability.write is None:
            return self.capability.label
        said = self.capability.write.preview(self.offer.arguments(given))
        note = self.offer.note(given)
        return said if note is None else f"{said} ({note})"


@dataclass(frozen=True, slots=True)
class Install:
    """An integration that can be acted on."""

    id: UUID
    name: str
    deeds: Mapping[str, Deed]


class Installs:
    """Everything that act_on_integration reaches."""

    def __init__(self, shelf: Iterable[Integration], limits: Limits) -> None:
        found = (_installed(one, limits) for one in shelf)
        self._all = {one.id: one for one in found if one.deeds}

    def __iter__(self) -> Iterator[Install]:
        return iter(self._all.values())

    def pages(self) -> list[Writing]:
        """A page for each action, by which whoever looks for one finds the install."""
        return [
            action_page(one.id, one.name, name, _told(one, name, deed))
            for one in self
            for name, deed in one.deeds.items()
        ]

    def listed(self) -> str:
        """Each with its id and its actions, for whoever looks for one."""
        return "; ".join(f"{one.name} {one.id}: {', '.join(one.deeds)}" for one in self)

    def findings(self, given: Mapping[str, Any]) -> Sequence[Finding]:
        """What is wrong with a call whose shape is right."""
        install = self._all.get(UUID(given["install_id"]))
        if install is None:
            there = ", ".join(f"{one.name} ({one.id})" for one in self)
            detail = f"There is no integration with this install id. There are {there}."
            return [Finding("/install_id", detail, "unknown_install")]
        deed = install.deeds.get(given["action_name"])
        if deed is None:
            detail = f"{install.name} has no such action. It has {', '.join(install.deeds)}."
            hint = did_you_mean(given["action_name"], list(install.deeds))
            return [Finding("/action_name", detail, "unknown_action", hint)]
        return deed.shape.findings(given["input"], "/input")

    def preview(self, given: Mapping[str, Any]) -> str:
        """What would happen, of a call that was found to be right."""
        return self._deed(given).preview(given["input"])

    def performs(self, given: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """The capability that does it once somebody has agreed, and its arguments."""
        try:
            deed = self._deed(given)
        except KeyError:
            detail = "This integration or its action is not there any more."
            raise Clash(detail, code="capability_gone") from None
        return deed.capability.id, deed.offer.arguments(given["input"])

    def _deed(self, given: Mapping[str, Any]) -> Deed:
        return self._all[UUID(given["install_id"])].deeds[given["action_name"]]


def _told(install: Install, name: str, deed: Deed) -> str:
    fields = ", ".join(deed.offer.input_schema.get("properties", {}))
    return (
        f"{deed.capability.description}\n\n"
        f"Call act_on_integration with install_id {install.id}, action_name {name} and an input "
        f"of: {fields}. It is drafted, and sent when a person has confirmed it.\n"
    )


def _installed(integration: Integration, limits: Limits) -> Install:
    manifest = integration.manifest
    offers = {one.capability: one for one in integration.offers}
    deeds = {}
    for one in integration.capabilities:
        if one.write is not None:
            offer = offers.get(one.id) or _own_words(one)
            deeds[one.id] = Deed(one, offer, compile_schema(offer.input_schema, limits))
    return Install(install_id_of(str(manifest["id"])), str(manifest["name"]), deeds)


def _own_words(capability: Capability) -> Offer:
    """The capability's own arguments, without those that are secrets of the installation."""
    schema, secret = capability.input_schema, capability.annotations.only_secrets
    asked = {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in schema.get("required", ()) if name not in secret],
        "properties": {
            name: one for name, one in schema["properties"].items() if name not in secret
        },
    }
    return Offer(capability.id, asked, dict)
