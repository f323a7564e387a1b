"""Example recipes: valid ones, and invalid ones with their findings.

Each invalid one is a valid recipe with one change, so that the finding concerns that change alone.
``schema`` says whether the published schema already rejects it; parsing and validation always do.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from mainspring.definition.schema.antiexamples import ABSENT, AntiExample, change_document

# Valid recipes: one of each kind, small enough to read. They are tests as well.


@dataclass(frozen=True, slots=True)
class RecipeExample:
    """A valid recipe, and what it demonstrates."""

    reason: str
    document: dict[str, Any]


def _build_example(
    slug: str, kind: str, name: str, description: str, **more: Any
) -> dict[str, Any]:
    return {
        "format": "mainspring.recipe",
        "format_version": 1,
        "slug": slug,
        "version": "1.0.0",
        "kind": kind,
        "name": name,
        "description": description,
        "publisher": "Example",
        "category": "operations",
        **more,
    }


_BOARD: Final = _build_example(
    "uptime-board",
    "board",
    "Uptime",
    "A board with one row for each check.",
    template={
        "name": "Uptime",
        "datasets": [
            {
                "name": "checks",
                "columns": [
                    {"key": "at", "field_type": "date"},
                    {"key": "state", "field_type": "select", "options": ["up", "down"]},
                ],
                "dedupe_key_field": "at",
            }
        ],
        "rows": {"checks": [{"at": "2026-01-31", "state": "up"}]},
    },
)

_AUTOMATION: Final = _build_example(
    "uptime-check",
    "automation",
    "Uptime check",
    "Asks a site every ten minutes whether it is there, and notes the answer on a board.",
    tags=["uptime"],
    dependencies=[
        {
            "slug": "uptime-board",
            "min_version": "1.0.0",
            "reason": "Where the answers are kept.",
            "as": "board",
        }
    ],
    grants=[
        {"capability": "append_board_rows", "params": {"board_id": "{{ install.board.id }}"}},
        {"capability": "http_fetch", "params": {"hosts": ["{{ install.settings.site }}"]}},
    ],
    hosts=["{{ install.settings.site }}"],
    settings=[
        {
            "name": "site",
            "label": "The host to ask",
            "type": "string",
            "example": "status.example.com",
        }
    ],
    examples=[{"name": "a good day", "inputs": {}, "says": "One row is added."}],
    template={
        "definition": {
            "schema_version": "1.2",
            "name": "Uptime check",
            "goal": "Note whether the site is there.",
            "triggers": [
                {"type": "schedule", "config": {"cron": "*/10 * * * *", "timezone": "UTC"}}
            ],
            "plan": [
                {
                    "step_id": "ask",
                    "action": "http_fetch",
                    "config": {"url": "https://{{ install.settings.site }}/health"},
                },
                {
                    "step_id": "note",
                    "action": "append_board_rows",
                    "config": {
                        "board_id": "{{ install.board.id }}",
                        "dataset": "checks",
                        "rows": [{"at": "{{ run.started_at }}", "state": "up"}],
                    },
                },
            ],
            "grants": [
                {
                    "capability": "append_board_rows",
                    "params": {"board_id": "{{ install.board.id }}"},
                },
                {
                    "capability": "http_fetch",
                    "params": {"hosts": ["{{ install.settings.site }}"]},
                },
            ],
        }
    },
)

_WORKFLOW: Final = _build_example(
    "stay-up",
    "workflow",
    "Stay up",
    "99 days of 100, reviewed each quarter.",
    dependencies=[
        {"slug": "uptime-board", "min_version": "1.0.0"},
        {"slug": "uptime-check", "min_version": "1.0.0"},
    ],
    template={
        "title": "Stay up",
        "charter": "The site is there when people come.",
        "kpis": [],
        "deadlines": [],
        "board": "uptime-board",
        "automations": ["uptime-check", "progress_scorer"],
    },
)

_INTEGRATION: Final = _build_example(
    "coin-prices",
    "integration",
    "Prices of coins",
    "Keeps a page for each of ten coins, every hour.",
    requires={
        "publisher_secrets": [{"name": "PRICES_KEY", "reason": "The list is read with a key."}]
    },
    grants=[
        {
            "capability": "ingest_from_endpoint",
            "params": {
                "hosts": ["prices.example.com"],
                "method": "GET",
                "url": "https://prices.example.com/latest?limit=10",
            },
        }
    ],
    hosts=["prices.example.com"],
    template={
        "auth": {"type": "api_key", "header": "X-Key", "secret_name": "PRICES_KEY"},
        "trigger": {"kind": "cron", "cron": "0 * * * *"},
        "endpoints": [
            {
                "op": "snapshot",
                "method": "GET",
                "url": "https://prices.example.com/latest?limit=10",
                "headers": {"X-Key": "{{publisher.PRICES_KEY}}"},
            }
        ],
        "mapping": {
            "iterate": "$.data[*]",
            "page_type": "coin",
            "source_ref_prefix": "coin:",
            "source_ref": "{{symbol}}@{{last_updated}}",
            "title": "{{name}}",
            "frontmatter": {"symbol": "{{symbol}}"},
        },
    },
)

_BUNDLE: Final = _build_example(
    "uptime",
    "bundle",
    "Everything about uptime",
    "The board, the check and the workflow, installed together.",
    template={
        "members": [
            {"slug": "uptime-board", "min_version": "1.0.0"},
            {"slug": "uptime-check", "min_version": "1.0.0"},
            {"slug": "stay-up", "min_version": "1.0.0", "reason": "Someone reviews it."},
        ]
    },
)

EXAMPLES: Final[tuple[RecipeExample, ...]] = (
    RecipeExample("a board with columns and a first row", _BOARD),
    RecipeExample("an automation with a dependency and a setting", _AUTOMATION),
    RecipeExample("a workflow over a board and an automation", _WORKFLOW),
    RecipeExample("an integration that is only declared", _INTEGRATION),
    RecipeExample("a bundle of the others", _BUNDLE),
)


_GOOD: Final[dict[str, Any]] = {
    "format": "mainspring.recipe",
    "format_version": 1,
    "slug": "site-note",
    "version": "1.0.0",
    "kind": "automation",
    "name": "Site note",
    "description": "Reads a page every morning and says what it found.",
    "publisher": "Example",
    "category": "operations",
    "tags": ["pages"],
    "dependencies": [{"slug": "site-board", "min_version": "1.0.0", "reason": "Where it notes."}],
    "requires": {"secrets": [{"name": "site_key", "reason": "The page is read with a key."}]},
    "grants": [
        {
            "capability": "append_board_rows",
            "params": {"board_id": "{{ install.site_board.id }}"},
        },
        {"capability": "http_fetch", "params": {"hosts": ["site.example.com"]}},
    ],
    "hosts": ["site.example.com"],
    "settings": [{"name": "word", "label": "Look for", "type": "string", "default": "news"}],
    "examples": [{"name": "today", "inputs": {"limit": 3}, "says": "One row is added."}],
    "template": {
        "definition": {
            "schema_version": "1.2",
            "name": "Site note",
            "goal": "Note what the page says.",
            "inputs": {
                "schema": {
                    "type": "object",
                    "properties": {"limit": {"type": "integer", "minimum": 1, "default": 1}},
                }
            },
            "triggers": [{"type": "schedule", "config": {"cron": "0 7 * * *", "timezone": "UTC"}}],
            "plan": [
                {
                    "step_id": "read",
                    "action": "http_fetch",
                    "config": {
                        "url": "https://site.example.com/",
                        "query": {"q": "{{ install.settings.word }}"},
                        "headers": {"X-Key": "{{ secrets.site_key }}"},
                    },
                },
                {
                    "step_id": "note",
                    "action": "append_board_rows",
                    "config": {
                        "board_id": "{{ install.site_board.id }}",
                        "rows": [{"said": "{{ steps.read.status }}"}],
                    },
                },
            ],
            "grants": [
                {
                    "capability": "append_board_rows",
                    "params": {"board_id": "{{ install.site_board.id }}"},
                },
                {"capability": "http_fetch", "params": {"hosts": ["site.example.com"]}},
            ],
        }
    },
}

_SOME_ID: Final = "01900000-0000-7000-8000-00000000000b"
_PLAN: Final = "/template/definition/plan"
_GRANTS: Final = "/template/definition/grants"


def build_good_recipe() -> dict[str, Any]:
    """The recipe that every invalid example is a change of."""
    return deepcopy(_GOOD)


def _change_good_recipe(
    place: str, value: Any, made: dict[str, Any] | None = None
) -> dict[str, Any]:
    return change_document(_GOOD if made is None else made, place, value)


def _build_schema_anti_example(
    reason: str, place: str, value: Any, code: str, pointer: str = ""
) -> AntiExample:
    return AntiExample(
        reason, _change_good_recipe(place, value), pointer or place, code, schema=True
    )


def _build_semantic_anti_example(
    reason: str, place: str, value: Any, code: str, pointer: str = ""
) -> AntiExample:
    return AntiExample(
        reason, _change_good_recipe(place, value), pointer or place, code, schema=False
    )


def _build_kind_anti_example(
    reason: str, kind: str, template: Any, code: str, pointer: str, *, schema: bool
) -> AntiExample:
    made = {
        key: value
        for key, value in build_good_recipe().items()
        if key not in ("grants", "hosts", "requires", "examples", "settings")
    }
    return AntiExample(reason, {**made, "kind": kind, "template": template}, pointer, code, schema)


_ENVELOPE: Final = (
    AntiExample("a recipe is an object", [], "", "type", schema=True),
    _build_schema_anti_example("the format is named", "/format", ABSENT, "required"),
    _build_schema_anti_example("another format", "/format", "other.recipe", "const"),
    _build_schema_anti_example("an unknown version", "/format_version", 2, "newer_format"),
    _build_schema_anti_example("a slug is kebab-case", "/slug", "Site Note", "pattern"),
    _build_schema_anti_example("a slug does not lead anywhere", "/slug", "../site", "pattern"),
    _build_schema_anti_example("a slug is short", "/slug", "a" * 65, "max_length"),
    _build_schema_anti_example("a version is three numbers", "/version", "1.0", "pattern"),
    _build_schema_anti_example(
        "a version has no name behind it", "/version", "1.0.0-beta", "pattern"
    ),
    _build_schema_anti_example("a version has no zero before it", "/version", "01.0.0", "pattern"),
    _build_schema_anti_example("five kinds, no more", "/kind", "dashboard", "enum"),
    _build_schema_anti_example(
        "a misspelt key is not ignored", "/grant", [], "additional_properties"
    ),
    _build_schema_anti_example("a name that can be read", "/name", "  ", "pattern"),
    _build_schema_anti_example("it says what it does", "/description", "", "min_length"),
    _build_schema_anti_example(
        "an image comes over https", "/preview_image_url", "http://a.example/x", "pattern"
    ),
    _build_schema_anti_example(
        "an image is no script", "/preview_image_url", "javascript:alert(1)", "pattern"
    ),
    _build_schema_anti_example(
        "a dependency has a slug", "/dependencies/0/slug", ABSENT, "required"
    ),
    _build_schema_anti_example(
        "a dependency's key is known", "/dependencies/0/version", "1.0.0", "additional_properties"
    ),
    _build_schema_anti_example(
        "a secret is requested with a reason", "/requires/secrets/0/reason", ABSENT, "required"
    ),
    _build_schema_anti_example(
        "a secret is never brought along",
        "/requires/secrets/0/value",
        "s3cret",
        "additional_properties",
    ),
    _build_schema_anti_example(
        "a grant names a capability", "/grants/0/capability", ABSENT, "required"
    ),
    _build_schema_anti_example(
        "a setting has one of three types", "/settings/0/type", "list", "enum"
    ),
    _build_schema_anti_example(
        "an example says what happens", "/examples/0/says", ABSENT, "required"
    ),
    _build_schema_anti_example("there is a template", "/template", ABSENT, "required"),
    _build_schema_anti_example(
        "a definition or a script",
        "/template/script",
        {"source": "await main();", "triggers": []},
        "one_of",
        "/template",
    ),
    _build_schema_anti_example("a digest is written one way", "/digest", "md5:abc", "pattern"),
    _build_schema_anti_example(
        "one way to sign",
        "/signature",
        {"algorithm": "rsa", "public_key": "a", "value": "b"},
        "const",
        "/signature/algorithm",
    ),
)

_MEANING: Final = (
    _build_semantic_anti_example(
        "a digest of something else", "/digest", "sha256:" + "0" * 64, "wrong_digest"
    ),
    _build_semantic_anti_example(
        "a dependency on itself", "/dependencies/0/slug", "site-note", "depends_on_itself"
    ),
    _build_semantic_anti_example(
        "one dependency twice",
        "/dependencies/1",
        {"slug": "site-board", "as": "other"},
        "name_twice",
        "/dependencies/1/slug",
    ),
    _build_semantic_anti_example(
        "two dependencies by one name",
        "/dependencies/1",
        {"slug": "other", "as": "site_board"},
        "name_twice",
        "/dependencies/1/as",
    ),
    _build_semantic_anti_example(
        "a name that means something else", "/dependencies/0/as", "owner", "reserved_name"
    ),
    _build_semantic_anti_example(
        "an optional setting without a default",
        "/settings/0",
        {"name": "word", "type": "string", "required": False},
        "no_default",
        "/settings/0/default",
    ),
    _build_semantic_anti_example("a default of another type", "/settings/0/default", 7, "type"),
    _build_semantic_anti_example(
        "a default that is a template",
        "/settings/0/default",
        "{{ secrets.site_key }}",
        "value_is_template",
    ),
    _build_semantic_anti_example(
        "an undeclared dependency",
        f"{_PLAN}/1/config/board_id",
        "{{ install.board.id }}",
        "unknown_dependency",
    ),
    _build_semantic_anti_example(
        "an undeclared setting",
        f"{_PLAN}/0/config/query/q",
        "{{ install.settings.wrod }}",
        "unknown_setting",
    ),
    _build_semantic_anti_example(
        "a part that a dependency does not have",
        f"{_PLAN}/1/config/board_id",
        "{{ install.site_board.rows }}",
        "bad_reference",
    ),
    _build_semantic_anti_example(
        "a reference with a filter",
        f"{_PLAN}/1/config/board_id",
        "{{ install.site_board.id | upper }}",
        "bad_reference",
    ),
    _build_semantic_anti_example(
        "text inside an expression",
        f"{_PLAN}/0/config/query/q",
        "{{ '{{ install.settings.word }}' | upper }}",
        "reference_in_expression",
    ),
    _build_semantic_anti_example(
        "text inside a condition",
        f"{_PLAN}/1/when",
        "inputs.limit == '{{ install.settings.word }}'",
        "reference_in_expression",
    ),
    _build_semantic_anti_example(
        "an id of one workspace", f"{_PLAN}/1/config/board_id", _SOME_ID, "hard_coded_id"
    ),
    _build_semantic_anti_example(
        "an id of one workspace in a grant", "/grants/0/params/board_id", _SOME_ID, "hard_coded_id"
    ),
    _build_semantic_anti_example(
        "an unknown action", f"{_PLAN}/0/action", "http_fetsch", "unknown_action"
    ),
    _build_semantic_anti_example("a hidden grant", "/grants", _GOOD["grants"][1:], "hidden_grant"),
    _build_semantic_anti_example(
        "a grant narrower than the requested one",
        "/grants/0/params/dataset",
        "default",
        "hidden_grant",
        "/grants",
    ),
    _build_semantic_anti_example(
        "a grant that nothing needs",
        "/grants/2",
        {"capability": "delete_board_rows"},
        "unused_grant",
    ),
    _build_semantic_anti_example("a hidden host", "/hosts", [], "hidden_host"),
    _build_semantic_anti_example("a host with a wildcard", "/hosts/0", "*.example.com", "bad_host"),
    _build_semantic_anti_example(
        "a host that nothing reaches", "/hosts/1", "other.example.com", "unused_host"
    ),
    _build_semantic_anti_example(
        "a template with a wider host than declared",
        f"{_GRANTS}/1/params/hosts/1",
        "drop.example.net",
        "hidden_host",
        "/hosts",
    ),
    _build_semantic_anti_example("a hidden secret", "/requires/secrets", [], "hidden_secret"),
    _build_semantic_anti_example(
        "a secret that nothing uses",
        "/requires/secrets/1",
        {"name": "bank_key", "reason": "Who knows."},
        "unused_secret",
        "/requires/secrets/1/name",
    ),
    _build_semantic_anti_example(
        "a connection that nothing uses",
        "/requires/connections",
        [{"integration": "github", "reason": "Who knows."}],
        "unused_connection",
        "/requires/connections/0/integration",
    ),
    _build_semantic_anti_example(
        "an example that the inputs refuse", "/examples/0/inputs/limit", 0, "minimum"
    ),
)

_KINDS: Final = (
    _build_kind_anti_example(
        "a board is no definition",
        "board",
        _GOOD["template"],
        "additional_properties",
        "/template/definition",
        schema=True,
    ),
    _build_kind_anti_example(
        "a column's type is called field_type",
        "board",
        {"name": "B", "datasets": [{"name": "d", "columns": [{"key": "a", "type": "x"}]}]},
        "additional_properties",
        "/template/datasets/0/columns/0/type",
        schema=True,
    ),
    _build_kind_anti_example(
        "two datasets by one name",
        "board",
        {"name": "B", "datasets": [{"name": "d"}, {"name": "d"}]},
        "dataset_twice",
        "/template/datasets/1/name",
        schema=False,
    ),
    _build_kind_anti_example(
        "rows of a dataset that is not there",
        "board",
        {"name": "B", "rows": {"d": [{"a": 1}]}},
        "unknown_dataset",
        "/template/rows/d",
        schema=False,
    ),
    _build_kind_anti_example(
        "a row that its columns refuse",
        "board",
        {
            "name": "B",
            "datasets": [{"name": "d", "columns": [{"key": "n", "field_type": "number"}]}],
            "rows": {"d": [{"n": "many"}]},
        },
        "column_type",
        "/template/rows/d/0/n",
        schema=False,
    ),
    _build_kind_anti_example(
        "a workflow's board is a dependency",
        "workflow",
        {"title": "W", "board": "other"},
        "unknown_dependency",
        "/template/board",
        schema=False,
    ),
    _build_kind_anti_example(
        "a workflow's automation is known",
        "workflow",
        {"title": "W", "automations": ["other"]},
        "unknown_dependency",
        "/template/automations/0",
        schema=False,
    ),
    _build_kind_anti_example(
        "an integration asks somewhere",
        "integration",
        {"trigger": {"kind": "cron", "cron": "0 * * * *"}},
        "required",
        "/template/endpoints",
        schema=True,
    ),
    _build_kind_anti_example(
        "a script is a single file",
        "integration",
        {"script": {"source": "return 1;"}, "mapping": {}},
        "additional_properties",
        "/template/mapping",
        schema=True,
    ),
    _build_kind_anti_example(
        "a bundle holds something",
        "bundle",
        {"members": []},
        "min_items",
        "/template/members",
        schema=True,
    ),
    _build_kind_anti_example(
        "a bundle does not hold itself",
        "bundle",
        {"members": [{"slug": "site-note"}]},
        "bundle_of_itself",
        "/template/members/0/slug",
        schema=False,
    ),
    _build_kind_anti_example(
        "a bundle holds each once",
        "bundle",
        {"members": [{"slug": "a"}, {"slug": "a"}]},
        "member_twice",
        "/template/members/1/slug",
        schema=False,
    ),
    _build_kind_anti_example(
        "a file next to a single-file recipe",
        "automation",
        {"script": {"source_file": "main.ts"}},
        "source_file_alone",
        "/template/script/source_file",
        schema=False,
    ),
)

ANTI_EXAMPLES: Final[tuple[AntiExample, ...]] = (*_ENVELOPE, *_MEANING, *_KINDS)
