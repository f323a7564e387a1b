"""Who may call the codex: everybody reads, editors change, and no automation ever does."""

from __future__ import annotations

from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Permission
from mainspring.registry import build_registry

READS = {
    "list_starter_recipes",
    "get_starter_recipe",
    "check_recipe_dependencies",
    "check_recipe_upgrade",
    "list_installs",
    "list_uninstalled",
}
CHANGES = {
    "apply_starter_recipe",
    "upgrade_recipe",
    "uninstall_recipe",
    "recover_recipe",
    "publish_recipe",
}


def test_viewers_read_editors_change_and_runs_change_nothing() -> None:
    known = build_registry(Limits()).capabilities

    assert {known[name].permission for name in READS} == {Permission.READ}
    assert {known[name].permission for name in CHANGES} == {Permission.EDIT}
    assert not any(known[name].grantable for name in CHANGES)
