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

from mainspring.contracts.capability import Capability, DraftMetadata
from mainspring.contracts.errors import Conflict, Finding
from mainspring.contracts.integration import Integration, Source, WriteOffer
from mainspring.contracts.limits import Limits
from mainspring.contracts.manifest import get_source_name
from mainspring.definition.json_schema import Validator, compile_schema
from mainspring.definition.suggestions import suggest_nearest
from mainspring.workspace.pages.action_pages import ActionReferencePage, build_action_page

_NAMESPACE: Final = UUID("642acfec-65b5-47fb-97e6-1180a73dcba3")
_FILES: Final = "attachments"
_NOT_SHOWN: Final = frozenset({"examples", "x-mainspring-anti-examples", "x-mainspring-instead"})


def install_id_of(integration: str) -> UUID:
    """The id under which an integration of the shelf is installed in every workspace."""
    return uuid5(_NAMESPACE, integration)


@dataclass(frozen=True, slots=True)
class IntegrationAction:
    """One action of an installed integration."""

    capability: Capability
    offer: WriteOffer
    shape: Validator

    @property
    def fields(self) -> Sequence[str]:
        """What its input may have."""
        return list(self.offer.input_schema.get("properties", {}))

    @property
    def takes_files(self) -> bool:
        return _FILES in self.capability.input_schema.get("properties", {})

    @property
    def family(self) -> str:
        return "" if self.capability.write is None else self.capability.write.family

    @property
    def editable(self) -> tuple[str, ...]:
        """The fields of the input that a person may still change."""
        if self.offer.editable is not None:
            return self.offer.editable
        write = self.capability.write
        return () if write is None else tuple(n for n in write.editable if n in self.fields)

    def arguments(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments of its capability, with the files that were given beside the input."""
        made = self.offer.arguments(arguments["input"])
        files = arguments.get(_FILES)
        return {**made, _FILES: files} if files else made

    def preview(self, arguments: Mapping[str, Any]) -> str:
        """What would happen, and what a person must know beside that."""
        if self.capability.write is None:
            return self.capability.label
        text = self.capability.write.preview(self.arguments(arguments))
        note = self.offer.note(arguments["input"])
        return text if note is None else f"{text} ({note})"

    def display_schema(self) -> dict[str, Any]:
        """The schema of its input, without what is for people who write schemas."""
        schema = self.offer.input_schema
        return {name: value for name, value in schema.items() if name not in _NOT_SHOWN}


@dataclass(frozen=True, slots=True)
class InstalledIntegration:
    """An integration that can be acted on."""

    id: UUID
    integration: Integration
    deeds: Mapping[str, IntegrationAction]

    @property
    def name(self) -> str:
        return self.integration.name

    @property
    def source(self) -> str:
        """By which it is asked for in words."""
        return get_source_name(self.integration.manifest)

    @property
    def reads(self) -> Source | None:
        """Where its own items are read from."""
        return next((one for one in self.integration.sources if one.name == self.source), None)

    def deed(self, name: str) -> IntegrationAction | None:
        """An action by its name, or by that of its capability."""
        own = (one for one in self.deeds.values() if one.capability.id == name)
        return self.deeds.get(name) or next(own, None)


class InstalledIntegrations:
    """Everything that act_on_integration reaches."""

    def __init__(self, shelf: Iterable[Integration], limits: Limits) -> None:
        found = (_build_installed_integration(one, limits) for one in shelf)
        self._all = {one.id: one for one in found if one.deeds}
        self._sources = {one.source: one for one in self._all.values()}

    def __iter__(self) -> Iterator[InstalledIntegration]:
        return iter(self._all.values())

    @property
    def sources(self) -> list[str]:
        """The names by which they are asked for in words."""
        return sorted(self._sources)

    def by_source(self, name: str) -> InstalledIntegration | None:
        return self._sources.get(name)

    def by_id(self, install_id: object) -> InstalledIntegration | None:
        return self._all.get(UUID(str(install_id)))

    def pages(self) -> list[ActionReferencePage]:
        """A page for each action, by which whoever looks for one finds the install."""
        return [_page(one, name, deed) for one in self for name, deed in one.deeds.items()]

    def listed(self) -> str:
        """Each with its id and its actions, for whoever looks for one."""
        return "; ".join(f"{one.name} {one.id}: {', '.join(one.deeds)}" for one in self)

    def findings(self, arguments: Mapping[str, Any]) -> Sequence[Finding]:
        """What is wrong with a call whose shape is right."""
        if "source" in arguments:
            return self._validate_words_request(arguments)
        install = self.by_id(arguments["install_id"])
        if install is None:
            there = ", ".join(f"{one.name} ({one.id})" for one in self)
            detail = f"There is no integration with this install id. There are {there}."
            return [Finding("/install_id", detail, "unknown_install")]
        deed = install.deed(arguments["action_name"])
        if deed is None:
            detail = f"{install.name} has no such action. It has {', '.join(install.deeds)}."
            hint = suggest_nearest(arguments["action_name"], list(install.deeds))
            return [Finding("/action_name", detail, "unknown_action", hint)]
        found = deed.shape.findings(arguments["input"], "/input")
        return found or self._findings_of_files(arguments, install, deed)

    def _validate_words_request(self, arguments: Mapping[str, Any]) -> Sequence[Finding]:
        install = self.by_source(arguments["source"])
        if install is None:
            detail = f"Nothing can be written there. It can be to {', '.join(self.sources)}."
            return [Finding("/source", detail, "unknown_source")]
        return _findings_of_page(arguments, install)

    def _findings_of_files(
        self, arguments: Mapping[str, Any], install: InstalledIntegration, deed: IntegrationAction
    ) -> Sequence[Finding]:
        for name in (_FILES, "attach_from_page"):
            if arguments.get(name) and not deed.takes_files:
                detail = f"{arguments['action_name']} of {install.name} takes no files."
                return [Finding(f"/{name}", detail, "no_attachments")]
        if arguments.get(_FILES) and arguments["input"].get(_FILES):
            detail = "There are files in the input already; give them in one place."
            return [Finding(f"/{_FILES}", detail, "attachments_twice")]
        return _findings_of_page(arguments, install)

    def preview(self, arguments: Mapping[str, Any]) -> str:
        """What would happen, of a call that was found to be right."""
        if "source" in arguments:
            return f"Do this with {arguments['source']}: {arguments['request']}"
        return self.deed(arguments).preview(arguments)

    def grant_arguments(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The call by its install and by its source: a grant may bound either."""
        try:
            found = self.by_source(str(arguments["source"])) if "source" in arguments else None
            found = found or self.by_id(arguments["install_id"])
        except (KeyError, ValueError):
            return arguments
        if found is None:
            return arguments
        return {"install_id": str(found.id), "source": found.source, **arguments}

    def performs(self, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """The capability that does it once somebody has agreed, and its arguments."""
        try:
            deed = self.deed(arguments)
        except KeyError:
            detail = "This integration or its action is not there any more."
            raise Conflict(detail, code="capability_gone") from None
        return deed.capability.id, deed.arguments(arguments)

    def envelope(self, arguments: Mapping[str, Any]) -> DraftMetadata:
        """What a call says of itself, for those who answer its draft."""
        install, deed = self._all[UUID(arguments["install_id"])], self.deed(arguments)
        batch = arguments.get("batch_id")
        return DraftMetadata(
            batch_id=None if batch is None else UUID(batch),
            notify=tuple(arguments.get("notify") or ("inbox",)),
            source=install.source,
            action=str(arguments["action_name"]),
            within="input",
            editable=deed.editable,
            family=deed.family,
        )

    def deed(self, arguments: Mapping[str, Any]) -> IntegrationAction:
        """The action of a call that was found to be right."""
        found = self._all[UUID(arguments["install_id"])].deed(arguments["action_name"])
        if found is None:
            raise KeyError(arguments["action_name"])
        return found


def _findings_of_page(
    arguments: Mapping[str, Any], install: InstalledIntegration
) -> Sequence[Finding]:
    """Files can be taken from a page only where its source can fetch them once more."""
    reads = install.reads
    if "attach_from_page" in arguments and (reads is None or reads.files is None):
        detail = f"{install.name} has no pages whose files could be attached; Gmail has."
        return [Finding("/attach_from_page", detail, "no_attachments")]
    return []


def _page(install: InstalledIntegration, name: str, deed: IntegrationAction) -> ActionReferencePage:
    route = deed.capability.annotations.route
    needs = route is not None and route.connection == "needed"
    examples = list(deed.offer.input_schema.get("examples", ()))[:3]
    return ActionReferencePage(
        build_action_page(
            install.id,
            install.name,
            name,
            _describe_action(install, name, deed),
            {
                "source": install.source,
                "description": deed.capability.description,
                "input_schema": deed.display_schema(),
                "requires_confirmation": True,
                "examples": examples,
                "side_effect": deed.family or "write",
            },
        ),
        install.integration.id if needs else None,
    )


def _describe_action(install: InstalledIntegration, name: str, deed: IntegrationAction) -> str:
    fields = ", ".join(deed.fields)
    return (
        f"{deed.capability.description}\n\n"
        f"Call act_on_integration with install_id {install.id}, action_name {name} and an input "
        f"of: {fields}. It is drafted, and sent when a person has confirmed it.\n"
    )


def _build_installed_integration(integration: Integration, limits: Limits) -> InstalledIntegration:
    offers = {one.capability: one for one in integration.offers}
    deeds = {}
    for one in integration.capabilities:
        if one.write is not None:
            offer = offers.get(one.id) or _offer_from_capability(one)
            shape = compile_schema(offer.input_schema, limits)
            deeds[offer.name or one.id] = IntegrationAction(one, offer, shape)
    return InstalledIntegration(install_id_of(integration.id), integration, deeds)


def _offer_from_capability(capability: Capability) -> WriteOffer:
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
    return WriteOffer(capability.id, asked, dict)
