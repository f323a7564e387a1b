"""What the pages of the documentation assume: automations, files, and values for placeholders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Preparation:
    """A script that runs before a page, and what its placeholders stand for.

    In values, ``{notes}`` is the address of an MCP server, ``{models}`` of a model provider and
    ``{web}`` of a web server.
    """

    script: str = ""
    values: Mapping[str, str] = field(default_factory=dict)


def _saved(name: str, plan: str, triggers: str = "[]", more: str = "") -> str:
    """Saves a small automation under this name, as a person at a terminal."""
    return f"""
cat > prepared.json <<'END'
{{"schema_version": "1.2", "name": "{name}", "goal": "It is part of an example.",
 "triggers": {triggers}, "plan": [{plan}]{more}}}
END
mainspring save prepared.json
"""


def _step(step_id: str, action: str, config: str) -> str:
    return f'{{"step_id": "{step_id}", "action": "{action}", "config": {config}}}'


_NOTE: Final = _step("note", "notification", '{"title": "Done"}')
_HOURLY: Final = (
    '[{"id": "hourly", "type": "schedule", "config": {"cron": "0 * * * *", "timezone": "UTC"}}]'
)
_DRAFT: Final = (
    "mainspring call send_email"
    ' \'{"to": ["ada@example.com"], "subject": "Friday", "text": "Shall we meet?"}\' --json'
    " | jq -r .draft_id"
)

# What the web server of the pages answers.
WEB: Final = {
    "/team.ics": (
        "text/calendar",
        (
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//example//team//EN\r\n"
            "BEGIN:VEVENT\r\nUID:weekly@example.com\r\nDTSTAMP:20260101T080000Z\r\n"
            "DTSTART:20260105T090000Z\r\nDTEND:20260105T093000Z\r\nRRULE:FREQ=WEEKLY\r\n"
            "SUMMARY:Weekly meeting\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
        ),
    ),
    "/v1/incidents": (
        "application/json",
        '{"incidents": [{"id": "i1", "owner": {"name": "Ada"}}]}',
    ),
}

PREPARED: Final[dict[str, Preparation]] = {
    "get-started/troubleshooting": Preparation(
        _saved(
            "Check a page",
            _step("page", "http_fetch", '{"url": "https://example.invalid/prices"}'),
            _HOURLY,
        )
        + 'mainspring fire "Check a page" --wait || true\n'
    ),
    "guides/approval-steps": Preparation(
        _saved(
            "Publish",
            _step(
                "day",
                "approval",
                '{"title": "On which day?", "form": {"type": "object", "required": ["day"],'
                ' "properties": {"day": {"type": "string", "format": "date"}}}}',
            ),
            more=', "execution": {"concurrency": "allow_parallel"}',
        )
        + """
for n in 1 2; do mainspring fire Publish; done
until [ "$(mainspring approvals --json | jq '.approvals | length')" = 2 ]; do sleep 0.2; done
FIRST=$(mainspring approvals --json | jq -r '.approvals[0].approval_id')
SECOND=$(mainspring approvals --json | jq -r '.approvals[1].approval_id')
""",
        {"approve QUESTION": "approve $FIRST", "decline QUESTION": "decline $SECOND"},
    ),
    "guides/approve-drafts": Preparation(
        f"ONE=$({_DRAFT})\nTWO=$({_DRAFT})\nTHREE=$({_DRAFT})\n"
        + _saved(
            "Morning digest",
            '{"step_id": "post", "action": "send_email", "approval": "automatic", "config":'
            ' {"to": ["ada@example.com"], "subject": "Friday", "text": "Hello."}}',
        )
        + 'mainspring new --by rules "every day at 9 UTC send an email to ada@example.com'
        ' that says good morning" < /dev/null\n',
        {
            "confirm 01a1e2 --hash 8f2c91d04be7": (
                "confirm $THREE --hash $(mainspring drafts show $THREE --json | jq -r .hash)"
            ),
            "drafts edit 01a1e2": "drafts edit $THREE",
            "drafts discard 01a1e2": "drafts discard $TWO",
            "drafts show 01a1e2": "drafts show $ONE",
            "drafts confirm 01a1e2": "drafts confirm $ONE",
            "proposals save 01a1e2 --automatic post": "proposals save last --automatic mail",
        },
    ),
    "guides/boards": Preparation(
        values={
            "01a1ddeb-f0f4-7000-9191-64be47c582ce": (
                "${ROW:=$(mainspring boards show Contacts --json"
                " | jq -r '.data.datasets.default.rows[0].row_id')}"
            )
        }
    ),
    "guides/budgets-and-costs": Preparation(_saved("Competitor bullets", _NOTE, _HOURLY)),
    "guides/connect-an-mcp-server": Preparation(values={"https://notes.example/mcp": "{notes}"}),
    "guides/connect-models": Preparation(
        values={"connect anthropic\n": "connect anthropic --url {models}\n"}
    ),
    "guides/describe-an-automation": Preparation(
        values={
            'mainspring new "every weekday': 'mainspring new --by rules < /dev/null "every weekday',
            'mainspring new "on': 'mainspring new --by rules "on',
            "mainspring change": "mainspring change --by rules",
            "mainspring proposals refine": "mainspring proposals refine --by rules",
            "mainspring proposals discard": (
                'mainspring new --by rules "every day at 8 UTC remind me to stretch" < /dev/null\n'
                "mainspring proposals discard"
            ),
        }
    ),
    "guides/dry-runs": Preparation(_saved("Weekly report", _NOTE)),
    "guides/events": Preparation(
        values={"01a1ddeb-cbef": "$(mainspring events --json | jq -r '.events[0].id')"}
    ),
    "guides/failure-alerts": Preparation(_saved("Always wrong", _NOTE)),
    "guides/files": Preparation(
        _saved(
            "Report",
            _step(
                "report",
                "artifacts.save",
                '{"name": "report.csv", "text": "a,b", "visibility": "shared"}',
            ),
        )
        + "mainspring fire Report --wait\n"
    ),
    "guides/install-recipes": Preparation(
        "mainspring scaffold recipe my-recipe --kind automation --into .\n"
    ),
    "guides/pages-and-search": Preparation(
        "mkdir notes\nprintf '%s\\n' --- 'title: Office hours' 'type: note' --- '' "
        "'We open at nine.' > notes/office-hours.md\n"
    ),
    "guides/rehearse-a-change": Preparation(
        _saved("Order watch", _NOTE)
        + """
mainspring fire "Order watch" --wait
cp prepared.json order-watch.json
echo '{"payload": {"orders": 100}}' > big-order.json
echo '{"payload": {"orders": 0}}' > empty-day.json
"""
    ),
    "guides/review-and-agree": Preparation(
        _saved("Daily digest", _NOTE).replace(
            "save prepared.json", "save prepared.json < /dev/null | cat"
        )
    ),
    "guides/scripts": Preparation(values={"msk_…": "$(mainspring token --show)"}),
    "guides/sync-boards": Preparation(
        values={
            "LINK": "$(mainspring boards links Work --json | jq -r '.links[-1].id')",
            "webcal://calendar.example.com": "{web}",
            "https://api.example.com": "{web}",
        }
    ),
    "guides/webhook-providers": Preparation("echo a-signing-secret > key.txt\n"),
    "guides/webhooks": Preparation(
        "printf 'whsec_%s' \"$(head -c 32 /dev/urandom | base64)\" > key.txt\n"
        "mainspring secrets set billing_webhook_key < key.txt\n"
        + _saved(
            "Paid",
            _NOTE,
            '[{"id": "paid", "type": "webhook",'
            ' "config": {"signature": {"secret": "billing_webhook_key"}}}]',
        )
        + "mainspring activate Paid\nPAID=$(mainspring show Paid --json | jq -r .id)\n",
        {"$ID/hooks/paid": "$PAID/hooks/paid"},
    ),
    "guides/workspace-as-files": Preparation(
        "git config --global user.name Ada\ngit config --global user.email ada@example.com\n"
    ),
}
