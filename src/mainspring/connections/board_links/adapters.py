"""Every kind of resource that a board can be linked to, with what judges a reference to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast
from uuid import UUID

from mainspring.contracts.capability import ConnectionRoute
from mainspring.contracts.errors import Conflict, Finding, Invalid
from mainspring.contracts.integration import Adapter, Integration, Operation
from mainspring.contracts.limits import Limits
from mainspring.contracts.manifest import get_source_name
from mainspring.definition.json_schema import Validator, compile_schema
from mainspring.definition.suggestions import suggest_nearest

Way = Literal["needed", "used", "none"]


@dataclass(frozen=True, slots=True)
class LinkableResource:
    """One kind of resource, and the integration that reads it."""

    adapter: Adapter
    integration: Integration
    ref_shape: Validator
    params_shapes: Mapping[str, Validator]

    @property
    def is_free(self) -> bool:
        """Whether the address is given by whoever asks, instead of known to the integration."""
        return self.adapter.hosts is not None

    @property
    def uses_connection(self) -> bool:
        return self.adapter.connection != "none"

    @property
    def providers(self) -> tuple[str, ...]:
        """The names by which its connection may be asked for."""
        manifest = self.integration.manifest
        named = (self.integration.id, get_source_name(manifest), manifest["auth"].get("provider"))
        return tuple(dict.fromkeys(str(one) for one in named if one))

    def operation(self, name: str) -> Operation | None:
        return next((one for one in self.adapter.operations if one.id == name), None)

    def route(
        self, ref: Mapping[str, Any], owner_id: UUID | None, *, must: bool = False
    ) -> ConnectionRoute:
        """The way to what a reference names, over somebody's connection where it uses one."""
        find = self.adapter.hosts
        hosts = frozenset(self.integration.manifest["hosts"]) if find is None else find(ref)
        way = cast("Way", self.adapter.connection)
        if must and way == "used":
            way = "needed"
        return ConnectionRoute(self.integration.id, hosts, way, owner_id)

    def ref_findings(self, ref: Mapping[str, Any], at: str = "/ref") -> Sequence[Finding]:
        """What is wrong with a reference, by its schema and then by what it says."""
        wrong = self.ref_shape.findings(ref, at)
        if wrong:
            return wrong
        try:
            self.adapter.normal(ref)
        except Invalid as problem:
            return relocate_findings(problem, at)
        return []

    def validate_operation(
        self, name: str, params: Mapping[str, Any], op_at: str, at: str = "/params"
    ) -> Sequence[Finding]:
        """What is wrong with an operation and its arguments."""
        operation = self.operation(name)
        if operation is None:
            known = [one.id for one in self.adapter.operations]
            detail = f"{self.adapter.kind} has no such operation. It has {', '.join(known)}."
            return [Finding(op_at, detail, "unknown_operation", suggest_nearest(name, known))]
        wrong = self.params_shapes[name].findings(params, at)
        if wrong:
            return wrong
        try:
            operation.check(params)
        except Invalid as problem:
            return relocate_findings(problem, at)
        return []


class LinkableResources(Mapping[str, LinkableResource]):
    """What of the shelf a board can be linked to, by its kind."""

    def __init__(self, shelf: Iterable[Integration], limits: Limits) -> None:
        self._all = {
            adapter.kind: LinkableResource(
                adapter,
                one,
                compile_schema(adapter.ref_schema, limits),
                {op.id: compile_schema(op.params_schema, limits) for op in adapter.operations},
            )
            for one in shelf
            for adapter in one.adapters
        }

    def __getitem__(self, kind: str) -> LinkableResource:
        return self._all[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def listed(self) -> str:
        return ", ".join(sorted(self._all)) or "none"

    def unknown(self, kind: str) -> Finding:
        """There is no such kind, and these there are."""
        detail = f"Nothing here reads {kind[:100]!r}. There are {self.listed()}."
        return Finding("/kind", detail, "unknown_kind", suggest_nearest(kind, list(self._all)))

    def kept(self, kind: str) -> LinkableResource:
        """The kind of a link that is kept; its integration may be gone by now."""
        found = self._all.get(kind)
        if found is None:
            raise Conflict(
                f"Nothing here reads {kind!r} any more.",
                code="adapter_gone",
                suggestion=f"There are {self.listed()}.",
            )
        return found


def relocate_findings(problem: Invalid, at: str) -> list[Finding]:
    """The findings of a problem, seen from the arguments of the call."""
    found = [replace(one, pointer=f"{at}{one.pointer}") for one in problem.findings]
    return found or [Finding(at, problem.detail, problem.code, problem.suggestion)]


def raise_findings(findings: Sequence[Finding], what: str) -> None:
    """Raises everything that is wrong at once."""
    if findings:
        raise Invalid(
            f"{what} is not valid: {findings[0].detail}",
            code=findings[0].code,
            findings=findings,
            suggestion=findings[0].suggestion,
        )
