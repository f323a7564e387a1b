"""Webhooks of a repository: GitHub reports changes, so that a poll looks at once.

The account needs admin access to the repository. GitHub signs each delivery with the secret.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Invalid, NotFound, PermissionDenied, ReconnectRequired
from mainspring.contracts.integration import PushRegistration, PushSource, PushTarget
from mainspring.contracts.provider_responses import malformed_response_error
from mainspring.integrations.github.client import (
    NAME,
    GitHub,
    RequestSubject,
    build_repository_path,
)

# The events of GitHub that each event of the trigger is looked for after.
_EVENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "issue_opened": ("issues",),
    "issue_updated": ("issues", "issue_comment"),
    "pull_request_opened": ("pull_request",),
    "pull_request_updated": ("pull_request", "pull_request_review", "issue_comment"),
    "release_published": ("release",),
    "commit_pushed": ("push",),
}
_PAGE: Final = 100
_MOST_HOOKS: Final = 500
_SIGNED: Final = "x-hub-signature-256"


class RepositoryWebhooks:
    """Registers and removes webhooks of repositories."""

    def __init__(self, github: GitHub) -> None:
        self._github = github

    async def register(
        self, ctx: CallContext, config: Mapping[str, Any], target: PushTarget
    ) -> PushRegistration:
        path, subject = _hooks(config)
        body = {
            "name": "web",
            "active": True,
            "events": list(_EVENTS[config["event"]]),
            "config": {
                "url": target.url,
                "content_type": "json",
                "secret": target.secret,
                "insecure_ssl": "0",
            },
        }
        try:
            made: Any = await self._github.post(ctx, path, body, subject)
        except Invalid:
            # An earlier attempt got through, and its answer was lost.
            made = await self._find(ctx, config, target.url)
            if made is None:
                raise
        except (NotFound, PermissionDenied) as problem:
            if isinstance(problem, ReconnectRequired):
                raise
            raise _build_scope_error(config) from problem
        if not isinstance(made.get("id"), int):
            raise malformed_response_error(NAME)
        return PushRegistration({"id": made["id"]})

    async def remove(
        self,
        ctx: CallContext,
        config: Mapping[str, Any],
        remote: Mapping[str, Any] | None,
        target: PushTarget,
    ) -> None:
        path, subject = _hooks(config)
        found = remote
        if found is None:
            try:
                found = await self._find(ctx, config, target.url)
            except NotFound:
                # Without access to webhooks none was registered.
                return
        if found is not None:
            await self._github.delete(ctx, f"{path}/{int(found['id'])}", subject)

    async def _find(self, ctx: CallContext, config: Mapping[str, Any], url: str) -> Any:
        path, subject = _hooks(config)
        hooks, _ = await self._github.list_all(ctx, path, {}, _PAGE, _MOST_HOOKS, subject)
        for hook in hooks:
            if isinstance(hook, dict) and hook.get("config", {}).get("url") == url:
                return hook
        return None


def build_push_source(github: GitHub) -> PushSource:
    """Build the registration of repository webhooks."""
    webhooks = RepositoryWebhooks(github)
    return PushSource("github", webhooks.register, webhooks.remove, _is_genuine, _is_change)


def _build_scope_error(config: Mapping[str, Any]) -> PermissionDenied:
    return PermissionDenied(
        f"The connected account may not manage the webhooks of {config['repository']}.",
        code="push_scope",
        suggestion="Give the account admin access to the repository. A connection with a token "
        "needs the scope admin:repo_hook, or the permission Webhooks.",
        unsent=True,
    )


def _hooks(config: Mapping[str, Any]) -> tuple[str, RequestSubject]:
    owner, _, name = config["repository"].partition("/")
    return build_repository_path(owner, name, "hooks"), RequestSubject(config["repository"])


def _is_genuine(headers: Mapping[str, str], body: bytes, target: PushTarget) -> bool:
    expected = hmac.new(target.secret.encode(), body, hashlib.sha256).hexdigest()
    given = headers.get(_SIGNED, "")
    return hmac.compare_digest(f"sha256={expected}".encode(), given.encode("utf-8", "replace"))


def _is_change(headers: Mapping[str, str]) -> bool:
    return headers.get("x-github-event") != "ping"
