"""E-mail: an integration without an address of its own.

It speaks through the mailer of the call's context, so it knows no server, no user and no
password; these are the operator's.
"""

from __future__ import annotations

import json
from importlib import resources

from mainspring.contracts.integration import Integration
from mainspring.integrations.email.capabilities import SEND_EMAIL
from mainspring.integrations.email.notify_owner import NOTIFY_OWNER
from mainspring.integrations.email.offers import SEND


def integration() -> Integration:
    """Everything this folder adds to an installation."""
    manifest = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    return Integration(
        manifest=json.loads(manifest), capabilities=(SEND_EMAIL, NOTIFY_OWNER), offers=(SEND,)
    )
