"""E-mail: an integration without an address of its own.

It speaks through the mailer of the call's context, so it knows no server, no user and no
password; these are the operator's.
"""

from __future__ import annotations

import json
from importlib import resources

from mainspring.contracts.integration import Integration
from mainspring.integrations.email.capabilities import SEND_EMAIL
from mainspring.integrations.email.notify_owner import notify_owner_capability


def integration(owner: str | None = None) -> Integration:
    """Everything this folder adds to an installation; ``owner`` is where its owner is told."""
    manifest = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    return Integration(
        manifest=json.loads(manifest), capabilities=(SEND_EMAIL, notify_owner_capability(owner))
    )
