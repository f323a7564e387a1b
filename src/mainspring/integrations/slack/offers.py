"""``slack_post`` as act_on_integration takes it: without a token, which is the owner's secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.capability import Capability
from mainspring.contracts.integration import Offer
from mainspring.contracts.secret import SecretRef, SecretText

# The secret that posts where no step names one.
_BOT: Final = SecretText((SecretRef("slack_bot_token"),))


def post_offer(post: Capability) -> Offer:
    """The message alone; it is posted by the owner's bot."""
    own = post.input_schema
    asked = {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in own["required"] if name != "token"],
        "properties": {name: one for name, one in own["properties"].items() if name != "token"},
    }
    return Offer(post.id, asked, _arguments)


def _arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    return {**given, "token": _BOT}
