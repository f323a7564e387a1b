"""The registry is the only list of plug-ins: nothing outside a plug-in names one.

A module that names an integration, or something that an integration declares, holds a fact that
belongs into the declaration of that integration. A plug-in of somebody else can then never have it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from mainspring.integration_loader import load_integrations
from mainspring.settings import Settings
from tests.architecture.tree import PACKAGE, ROOT, files_under, modules, nodes, shown

INTEGRATIONS = PACKAGE / "integrations"
PAGE = ROOT / "web" / "src"
# Ordinary words that are ids as well: a field of a person, a view, a kind of backoff, a weekday.
# Alone they say nothing about a plug-in; what a plug-in declares under them is still found.
ORDINARY_WORDS = frozenset({"calendar", "drive", "email", "linear", "monday"})
# The keywords of a JSON Schema whose values only illustrate it.
EXAMPLES = frozenset({"examples", "x-mainspring-anti-examples"})

_EXAMPLE = "an example that is part of a published schema or of a prompt; nothing depends on it"
_HISTORY = "an earlier format of definitions, which no plug-in of today can change"
_CHANNEL = "notify is a closed list of the definition format; more channels are a format change"
_LINKING = "the commands, routes and tables with which members link this one chat carry its name"
_PHRASES = "rules for English phrases: they recognise a word and write its step"
_SENDERS = "the table of webhook senders, who sign in their own ways with or without an integration"
_POLLS = "the presets of the poll trigger are trigger types of the definition format"
_CHATS = "the providers of the chat trigger are a closed list of the definition format"
EXCEPTIONS = {
    f"src/mainspring/{path}": reason
    for reason, paths in {
        _EXAMPLE: (
            "authoring/generate/prompts.py",
            "authoring/rehearsing_schemas.py",
            "authoring/watch_integration.py",
            "definition/schema/examples.py",
            "connections/accounts/schemas.py",
            "gate/draft_schemas.py",
            "connections/ingestion/schemas.py",
            "connections/board_links/capabilities.py",
            "gate/standing/capabilities.py",
            "recipes/package/example_recipes.py",
            "triggers/presets.py",
            "workspace/boards/schemas.py",
        ),
        _POLLS: (
            "definition/model.py",
            "definition/poll_descriptions.py",
            "definition/polls.py",
            "triggers/poll.py",
        ),
        _CHATS: (
            "definition/chat_triggers.py",
            "triggers/chat_intake.py",
            "triggers/chat_message.py",
        ),
        _SENDERS: ("triggers/webhook_signatures.py",),
        _HISTORY: ("definition/upgrade/v1_0.py", "definition/upgrade/v1_1.py"),
        _CHANNEL: (
            "actions/approval.py",
            "connections/act_on_integration.py",
            "runs/question_capabilities.py",
        ),
        _LINKING: (
            "gate/prompting/chat_linking.py",
            "gate/prompting/button_presses.py",
            "gate/prompting/slack_identities.py",
            "gate/prompting/prompt_delivery.py",
            "workspace/secret_capabilities.py",
        ),
        _PHRASES: (
            "authoring/review/flags_of_reach.py",
            "authoring/sketch/action_steps.py",
            "authoring/sketch/definition_changes.py",
            "authoring/sketch/intents.py",
            "authoring/sketch/plan.py",
            "authoring/sketch/planning.py",
            "authoring/sketch/read_steps.py",
            "authoring/sketch/replacements.py",
            "authoring/sketch/tool_steps.py",
            "authoring/sketch/trigger_events.py",
            "authoring/sketch/triggers.py",
            "authoring/sketch/url_watch.py",
        ),
    }.items()
    for path in paths
}


@cache
def _names() -> frozenset[str]:
    """Every name that a built-in integration declares."""
    found: set[str] = set()
    for one in load_integrations(Settings()):
        found.add(one.id)
        found |= {capability.id for capability in one.capabilities}
        found |= {event.type for event in one.events}
        found |= {source.name for source in one.sources}
        found |= {adapter.kind for adapter in one.adapters}
        found |= {op.id for adapter in one.adapters for op in adapter.operations}
        found |= set(one.manifest["auth"].get("secrets", ()))
        for capability in one.capabilities:
            route = capability.annotations.route
            found |= set() if route is None else route.secrets
    return frozenset(found - ORDINARY_WORDS)


@cache
def _page_pattern() -> re.Pattern[str]:
    """A name as a text, or as a key of an object."""
    names = "|".join(re.escape(name) for name in sorted(_names(), key=len, reverse=True))
    return re.compile(rf"([\"'`])({names})\1|(?m:^)\s*({names}):\s")


def _illustrations(path: Path) -> set[int]:
    """The nodes of a module that are in examples of a schema, or in docstrings."""
    found: set[int] = set()
    for node in nodes(path):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found.add(id(node.value))
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value in EXAMPLES:
                    found |= {id(inner) for inner in ast.walk(value)}
    return found


def _named_in_module(path: Path) -> Iterator[tuple[int, str]]:
    skipped = _illustrations(path)
    for node in nodes(path):
        if isinstance(node, ast.Constant) and node.value in _names() and id(node) not in skipped:
            yield node.lineno, str(node.value)


def _named_in_page(path: Path) -> Iterator[tuple[int, str]]:
    text = re.sub(r"(?m)^\s*//.*$", "", path.read_text(encoding="utf-8"))
    for match in _page_pattern().finditer(text):
        yield text.count("\n", 0, match.end()) + 1, match[2] or match[3]


def _offenders() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in modules("src"):
        if INTEGRATIONS not in path.parents:
            named = [f"{line}: {name}" for line, name in _named_in_module(path)]
            if named:
                found[shown(path)] = named
    for path in files_under(PAGE):
        if path.suffix in (".ts", ".tsx") and not path.stem.endswith((".test", ".d")):
            named = [f"{line}: {name}" for line, name in _named_in_page(path)]
            if named:
                found[shown(path)] = named
    return found


def test_no_module_names_an_integration_or_what_it_declares() -> None:
    unexplained = {path: named for path, named in _offenders().items() if path not in EXCEPTIONS}

    assert unexplained == {}


def test_every_exception_is_still_needed() -> None:
    assert sorted(EXCEPTIONS.keys() - _offenders().keys()) == []


def test_every_built_in_write_describes_itself() -> None:
    writes = [
        capability.id
        for one in load_integrations(Settings())
        for capability in one.capabilities
        if capability.write is not None and capability.write.describe is None
    ]

    assert writes == []
