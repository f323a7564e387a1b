"""Schemas of definitions, filters and recipes, and the vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from mainspring.contracts.capability import Audience
from mainspring.contracts.registry import Vocabulary
from mainspring.contracts.roles import Permission
from mainspring.definition.filters import FILTER_SCHEMA
from mainspring.definition.schema import build_definition_schema
from mainspring.definition.templates import FILTERS, TESTS
from mainspring.definition.templates.filter_help import FILTER_WORDS, TEST_WORDS
from mainspring.definition.templates.filters import REQUIRED
from mainspring.recipes.package.schema import build_recipe_schema
from mainspring.surfaces.rest.auth import SignedIn
from mainspring.surfaces.rest.request_bodies import JsonAnswer, as_json
from mainspring.surfaces.rest.route_access import needs
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

_DECLARED = """
    SELECT type, description, payload_schema FROM event_types
    WHERE workspace_id = $1 ORDER BY type
"""

Schema = dict[str, Any]


class ActionWord(BaseModel):
    """What a step may name, and the shape of its config and output."""

    model_config = ConfigDict(extra="forbid")

    type: str
    description: str
    config_schema: Schema
    output_schema: Schema | None


class CapabilityWord(BaseModel):
    """What can be granted and called; ``effect`` says how far a call reaches."""

    model_config = ConfigDict(extra="forbid")

    id: str
    description: str
    effect: str
    input_schema: Schema
    output_schema: Schema


class TriggerWord(BaseModel):
    """What can start a run."""

    model_config = ConfigDict(extra="forbid")

    type: str
    description: str
    config_schema: Schema
    payload_schema: Schema


class EventWord(BaseModel):
    """What can be listened for."""

    model_config = ConfigDict(extra="forbid")

    type: str
    description: str
    payload_schema: Schema


class VocabularyAnswer(BaseModel):
    """Every word that a definition in this workspace may use."""

    model_config = ConfigDict(extra="forbid")

    actions: list[ActionWord]
    capabilities: list[CapabilityWord]
    triggers: list[TriggerWord]
    event_types: list[EventWord]


class FilterWord(BaseModel):
    """What may stand behind a bar in a template, with its parameters in order."""

    model_config = ConfigDict(extra="forbid")

    name: str
    parameters: list[str]
    description: str


class PredicateWord(BaseModel):
    """What may stand behind ``is`` in a template."""

    model_config = ConfigDict(extra="forbid")

    name: str
    description: str


class TemplatesAnswer(BaseModel):
    """Every filter and test that a template may use."""

    model_config = ConfigDict(extra="forbid")

    filters: list[FilterWord]
    tests: list[PredicateWord]


def routes(services: ApplicationServices) -> APIRouter:
    made = router("schemas")
    definition, filters = as_json(build_definition_schema()), as_json(FILTER_SCHEMA)
    recipe = as_json(build_recipe_schema())

    @made.get("/schemas/definition", summary="The schema of a definition", response_model=Schema)
    @needs(Permission.READ)
    async def read_definition_schema() -> Response:
        return _schema_answer(definition)

    @made.get("/schemas/filter", summary="The schema of a filter", response_model=Schema)
    @needs(Permission.READ)
    async def read_filter_schema() -> Response:
        return _schema_answer(filters)

    @made.get("/schemas/recipe", summary="The schema of a recipe", response_model=Schema)
    @needs(Permission.READ)
    async def read_recipe_schema() -> Response:
        return _schema_answer(recipe)

    @made.get(
        "/schemas/templates",
        summary="The filters and tests of templates",
        response_model=TemplatesAnswer,
    )
    @needs(Permission.READ)
    async def read_template_words() -> Response:
        return JsonAnswer(template_words())

    @made.get("/vocabulary", summary="Every word of definitions", response_model=VocabularyAnswer)
    @needs(Permission.READ)
    async def read_vocabulary(caller: SignedIn) -> Response:
        declared = await caller.database.fetch(_DECLARED, caller.workspace_id)
        words = await services.registry.of(caller.workspace_id)
        shown = describe_vocabulary(words, administrator=caller.actor.administrator)
        built_in = {entry["type"] for entry in shown["event_types"]}
        more = [dict(row) for row in declared if row["type"] not in built_in]
        return JsonAnswer({**shown, "event_types": [*shown["event_types"], *more]})

    return made


def _schema_answer(content: bytes) -> Response:
    return Response(content, media_type="application/json")


def template_words() -> dict[str, Any]:
    filters = [
        {
            "name": name,
            "parameters": [_parameter(*one) for one in entry.parameters],
            "description": FILTER_WORDS[name],
        }
        for name, entry in sorted(FILTERS.items())
    ]
    tests = [{"name": name, "description": TEST_WORDS[name]} for name in sorted(TESTS)]
    return {"filters": filters, "tests": tests}


def _parameter(name: str, default: Any) -> str:
    return name if default is REQUIRED else f"{name}={as_json(default).decode()}"


def describe_vocabulary(
    vocabulary: Vocabulary, *, administrator: bool
) -> dict[str, list[Mapping[str, Any]]]:
    """Everything except entries for administrators, which are hidden from others."""
    return {
        "actions": [
            {
                "type": entry.type,
                "description": entry.description,
                "config_schema": entry.config_schema,
                "output_schema": entry.output_schema,
            }
            for entry in vocabulary.actions.values()
        ],
        "capabilities": [
            {
                "id": entry.id,
                "description": entry.description,
                "effect": entry.annotations.effect,
                "input_schema": entry.input_schema,
                "output_schema": entry.output_schema,
            }
            for entry in vocabulary.capabilities.values()
            if administrator or entry.annotations.audience is not Audience.ADMINISTRATORS
        ],
        "triggers": [
            {
                "type": entry.type,
                "description": entry.description,
                "config_schema": entry.config_schema,
                "payload_schema": entry.payload_schema,
            }
            for entry in vocabulary.triggers.values()
        ],
        "event_types": [
            {
                "type": entry.type,
                "description": entry.description,
                "payload_schema": entry.payload_schema,
            }
            for entry in vocabulary.events.values()
        ],
    }
