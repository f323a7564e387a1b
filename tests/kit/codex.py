"""Recipes to publish, and a member of a workspace who calls the capabilities of the codex."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mainspring.app import Application
from mainspring.contracts.context import Actor
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.workspace.automations import FIRST_MEMBER

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Codex:
    """The codex as one member of one workspace sees it."""

    application: Application
    workspace_id: UUID | None = None
    role: Role = Role.OWNER
    member: UUID = FIRST_MEMBER

    async def call(self, capability: str, **arguments: Any) -> dict[str, Any]:
        space = self.workspace_id or self.application.workspace_id
        caller = CapabilityCaller(Actor(space, "member", self.member, role=self.role))
        answer = await self.application.gate.direct(caller, capability, arguments)
        assert isinstance(answer, dict)
        return answer

    async def publish(self, *packages: Document, shared: bool | None = None) -> None:
        more = {} if shared is None else {"shared": shared}
        for package in packages:
            await self.call("publish_recipe", package=package, **more)

    async def apply(self, slug: str, **overrides: Any) -> dict[str, Any]:
        more = {"overrides": overrides} if overrides else {}
        return await self.call("apply_starter_recipe", slug=slug, **more)

    async def upgrade(self, made: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        return await self.call(
            "upgrade_recipe", entity_id=made["id"], entity_kind=made["kind"], **more
        )

    async def check(self, made: Mapping[str, Any]) -> dict[str, Any]:
        return await self.call(
            "check_recipe_upgrade", entity_id=made["id"], entity_kind=made["kind"]
        )


def recipe(slug: str, kind: str, template: Mapping[str, Any], **more: Any) -> Document:
    """A recipe of one kind; what is left out is plain."""
    return {
        "format": "mainspring.recipe",
        "format_version": 1,
        "slug": slug,
        "version": "1.0.0",
        "kind": kind,
        "name": slug.replace("-", " ").capitalize(),
        "description": f"A {kind} to try things with.",
        "publisher": "Somebody",
        "category": "operations",
        "template": dict(template),
        **more,
    }


def board(slug: str = "sites", columns: Sequence[str] = ("site",), **more: Any) -> Document:
    """A recipe for a board with one dataset."""
    datasets = [
        {"name": "default", "columns": [{"key": key} for key in columns]},
        *more.pop("datasets", ()),
    ]
    template = {"name": slug.capitalize(), "datasets": datasets, **more.pop("template", {})}
    return recipe(slug, "board", template, **more)


def automation(
    slug: str = "checker", plan: Sequence[Mapping[str, Any]] | None = None, **more: Any
) -> Document:
    """A recipe for an automation that needs no grants, unless its plan says otherwise."""
    document = {
        "schema_version": "1.2",
        "name": slug.capitalize(),
        "goal": "Show one promise.",
        "plan": list(plan) if plan is not None else [says("hello")],
        **more.pop("definition", {}),
    }
    return recipe(slug, "automation", {"definition": document}, **more)


def says(value: str, step_id: str = "say") -> Document:
    return {"step_id": step_id, "action": "transform_data", "config": {"output": value}}


def needs(slug: str, min_version: str = "1.0.0", **more: Any) -> Document:
    return {"slug": slug, "min_version": min_version, "reason": "It works with it.", **more}


def bundle(slug: str, *members: str, **more: Any) -> Document:
    return recipe(slug, "bundle", {"members": [{"slug": one} for one in members]}, **more)
