"""An application in which mails are drafted: a write with files, a batch and fields to edit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from mainspring.app import Application, build_application
from mainspring.contracts.capability import Annotations, Capability, DraftMetadata, Effect, Write
from mainspring.contracts.context import Actor, CallContext
from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.contracts.object_schema import build_object_part, build_object_schema
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.registry import build_registry
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.bench import Bench
from tests.kit.members import member

_FILE = build_object_part(
    {
        "filename": {"type": "string"},
        "content_base64": {"type": "string"},
        "mime_type": {"type": "string"},
    },
    ("filename", "content_base64"),
)
_INPUT = build_object_part(
    {
        "to": {"type": "array", "items": {"type": "string", "pattern": "@"}, "minItems": 1},
        "body": {"type": "string", "minLength": 1},
        "cc": {"type": "array", "items": {"type": "string", "pattern": "@"}},
        "seal": {"type": "string"},
        "attachments": {"type": "array", "items": _FILE},
    },
    ("to", "body"),
)


def _envelope(arguments: Mapping[str, Any]) -> DraftMetadata:
    batch = arguments.get("batch_id")
    return DraftMetadata(
        batch_id=None if batch is None else UUID(batch),
        notify=tuple(arguments.get("notify", ["inbox"])),
        source="post",
        action="send_letter",
        within="input",
        editable=("to", "cc", "body"),
        family="email",
    )


def _preview(arguments: Mapping[str, Any]) -> str:
    mail = arguments["input"]
    files = len(mail.get("attachments", ()))
    return f"Send to {', '.join(mail['to'])}: {mail['body']} ({files} files)"


@dataclass(slots=True)
class MailDrafts:
    """A member who drafts mails, and what was sent."""

    application: Application
    sent: list[dict[str, Any]] = field(default_factory=list)

    @property
    def owner(self) -> CapabilityCaller:
        return CapabilityCaller(
            Actor(self.application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER)
        )

    async def member(self, role: Role) -> CapabilityCaller:
        return await member(self.application.database, self.application.workspace_id, role)

    async def ask(
        self, capability: str, given: Any, visitor: CapabilityCaller | None = None
    ) -> Any:
        return await self.application.gate.direct(visitor or self.owner, capability, given)

    async def draft(self, body: str = "Hello", **more: Any) -> dict[str, Any]:
        outer = {name: more.pop(name) for name in ("batch_id", "notify") if name in more}
        mail = {"to": ["ada@example.com"], "body": body, **more}
        held: dict[str, Any] = await self.ask("test.letter", {"input": mail, **outer})
        return held

    async def confirm(
        self, draft: Mapping[str, Any] | str, visitor: Any = None, **more: Any
    ) -> Any:
        draft_id = draft if isinstance(draft, str) else draft["draft_id"]
        return await self.ask("confirm_action", {"draft_id": draft_id, **more}, visitor)

    async def row(self, draft: Mapping[str, Any]) -> Any:
        return await self.application.database.fetchrow(
            "SELECT * FROM drafts WHERE id = $1", UUID(draft["draft_id"])
        )

    async def audited(self, draft: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """What the audit log says of a draft, the oldest first."""
        rows = await self.application.database.fetch(
            "SELECT action, detail FROM audit_log WHERE subject = $1 ORDER BY id",
            str(draft["draft_id"]),
        )
        return [(row["action"], row["detail"]) for row in rows]

    def capability(self) -> Capability:
        async def send(ctx: CallContext, given: Mapping[str, Any]) -> Any:
            if given["input"]["body"] == "Boom":
                raise UpstreamError("The post office is shut.", code="shut", unsent=True)
            self.sent.append({"key": ctx.key, **given["input"]})
            return {"message_id": f"m{len(self.sent)}"}

        asked = {
            "input": _INPUT,
            "batch_id": {"type": "string", "format": "uuid"},
            "notify": {"type": "array", "items": {"enum": ["inbox", "telegram", "email"]}},
        }
        return Capability(
            "test.letter",
            "Send a letter",
            build_object_schema(asked, ("input",), []),
            build_object_schema({"message_id": {"type": "string"}}, ("message_id",), []),
            send,
            Write(_preview, envelope=_envelope),
            Annotations(effect=Effect.SEND),
        )


@asynccontextmanager
async def letter_box(bench: Bench, **settings: Any) -> AsyncIterator[MailDrafts]:
    """The application of a bench with the mail capability in it."""
    given = replace(bench.application.settings, **settings)
    box = MailDrafts(bench.application)
    registry = build_registry(Limits(), settings=given, capabilities=(box.capability(),))
    box.application = build_application(given, Limits(), registry, bench.application.database)
    try:
        yield box
    finally:
        await box.application.gate.aclose()
        await box.application.wakeup_sender.aclose()
        await box.application.egress.aclose()
