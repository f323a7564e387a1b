"""The recipe capabilities, shared by MCP, REST and the command line.

Everybody may read; editors may change. None of the changes can be granted to an automation: a
recipe never installs or publishes another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    Effect,
    build_capability,
)
from mainspring.contracts.limits import Limits
from mainspring.contracts.toolset import Toolset
from mainspring.recipes import schemas as shapes
from mainspring.recipes import schemas_installs as here
from mainspring.recipes.codex.catalog import CodexServices, WorkspaceValidator, build_codex_services
from mainspring.recipes.codex.install import apply_handler, build_dependencies_handler
from mainspring.recipes.codex.presentation import build_installs_handler, get_handler, list_handler
from mainspring.recipes.codex.publish import publish_handler
from mainspring.recipes.codex.uninstall import (
    list_gone_handler,
    recover_handler,
    uninstall_handler,
)
from mainspring.recipes.codex.upgrade import check_handler, upgrade_handler
from mainspring.recipes.kinds import EntityHandler

_READS: Final = Annotations(
    toolset=Toolset.RECIPES, effect=Effect.READ, transactional=True, seconds=0.2
)
# They validate definitions, which runs have no use for.
_LOOKS: Final = Annotations(
    toolset=Toolset.RECIPES,
    effect=Effect.READ,
    transactional=True,
    seconds=0.5,
    audience=Audience.PEOPLE,
)


def _build_change_annotations(*names: str, size: int | None = None) -> Annotations:
    """Annotations for a change by a person or their client, with its audit subject."""

    def subject(arguments: Mapping[str, Any], answered: Any) -> str | None:
        sides = [one for one in (arguments, answered) if isinstance(one, Mapping)]
        found = (side.get(name) for side in sides for name in names)
        return next((one for one in found if isinstance(one, str)), None)

    return Annotations(
        toolset=Toolset.RECIPES,
        effect=Effect.KEEP,
        transactional=True,
        seconds=1.0,
        audience=Audience.PEOPLE,
        subject=subject,
        arguments_bytes=size,
    )


def recipe_capabilities(
    judge: WorkspaceValidator, limits: Limits, workflows: EntityHandler | None = None
) -> tuple[Capability, ...]:
    """Build the recipe capabilities; ``words`` validates definitions once the application is
    built."""
    services = build_codex_services(judge, limits, workflows)
    return (
        *_build_catalog_capabilities(services),
        *_build_install_capabilities(services),
        *_build_lifecycle_capabilities(services),
    )


def _build_catalog_capabilities(services: CodexServices) -> tuple[Capability, ...]:
    return (
        build_capability(
            "list_starter_recipes",
            "List recipes of the codex",
            "Recipes for boards, automations, workflows, integrations and bundles: built-in, from "
            "this workspace, and shared.",
            shapes.LIST_TAKES,
            shapes.LIST_ANSWERS,
            list_handler(services),
            _READS,
        ),
        build_capability(
            "get_starter_recipe",
            "Get a recipe",
            "Returns the template and everything it requests. Give slug or id.",
            shapes.GET_TAKES,
            shapes.GET_ANSWERS,
            get_handler(services),
            _READS,
        ),
        build_capability(
            "publish_recipe",
            "Publish a version of a recipe",
            "Validates it first: it can use only what it declares. Published versions never "
            "change; existing installs are offered the upgrade.",
            shapes.PUBLISH_TAKES,
            shapes.PUBLISH_ANSWERS,
            publish_handler(services),
            _build_change_annotations("slug"),
        ),
    )


def _build_install_capabilities(services: CodexServices) -> tuple[Capability, ...]:
    return (
        build_capability(
            "apply_starter_recipe",
            "Install a recipe",
            "Installs its dependencies first. Automations stay paused until a person agrees to "
            "what they request. Installing again creates second copies. Use upgrade_recipe to "
            "update an install.",
            shapes.APPLY_TAKES,
            shapes.APPLY_ANSWERS,
            apply_handler(services),
            _build_change_annotations("slug", "id"),
        ),
        build_capability(
            "check_recipe_dependencies",
            "Check the dependencies of a recipe",
            "Call it before apply_starter_recipe: returns the required recipes, which are "
            "installed, and whether an install would succeed.",
            shapes.NEEDS_TAKES,
            shapes.NEEDS_ANSWERS,
            build_dependencies_handler(services),
            _LOOKS,
        ),
        build_capability(
            "list_installs",
            "List installed recipes",
            "Returns each with its recipe, version and whether a newer one exists.",
            here.INSTALLS_TAKES,
            here.INSTALLS_ANSWERS,
            build_installs_handler(services),
            _READS,
        ),
    )


def _build_lifecycle_capabilities(services: CodexServices) -> tuple[Capability, ...]:
    return (
        build_capability(
            "check_recipe_upgrade",
            "Preview a recipe upgrade",
            "Call it before upgrade_recipe: returns the changes and the local edits that they "
            "would overwrite. Rows are not compared.",
            here.CHECK_TAKES,
            here.CHECK_ANSWERS,
            check_handler(services),
            _LOOKS,
        ),
        build_capability(
            "upgrade_recipe",
            "Upgrade an install",
            "Rebuilds it from the newest version of its recipe. Rows, automation states and "
            "workflow rosters stay. Local edits block the upgrade unless force is given. "
            "Additional permissions wait for a person. Preview with check_recipe_upgrade.",
            here.UPGRADE_TAKES,
            here.UPGRADE_ANSWERS,
            upgrade_handler(services),
            _build_change_annotations("entity_id"),
        ),
        build_capability(
            "uninstall_recipe",
            "Uninstall a recipe or one installed item",
            "Give slug to remove everything installed from a recipe. Automations stop "
            "immediately. Nothing is deleted: recover_recipe restores it for seven days.",
            here.UNINSTALL_TAKES,
            here.UNINSTALL_ANSWERS,
            uninstall_handler(services),
            _build_change_annotations("entity_id", "slug"),
        ),
        build_capability(
            "list_uninstalled",
            "List recoverable uninstalls",
            "Uninstalled in the last seven days, latest first. Restore one with recover_recipe.",
            here.GONE_TAKES,
            here.GONE_ANSWERS,
            list_gone_handler(),
            _READS,
        ),
        build_capability(
            "recover_recipe",
            "Recover an uninstalled item",
            "Restores its rows and origin; automations come back paused. If the name is taken, a "
            "number is appended.",
            here.RECOVER_TAKES,
            here.RECOVER_ANSWERS,
            recover_handler(services),
            _build_change_annotations("entity_id"),
        ),
    )
