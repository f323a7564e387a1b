"""``slack_post`` as act_on_integration takes it: without a token.

It is posted by the bot of the connection, or by the one whose token the owner keeps as a secret.
"""

from __future__ import annotations

from mainspring.contracts.capability import Capability
from mainspring.contracts.integration import WriteOffer


def post_offer(post: Capability) -> WriteOffer:
    """The message alone."""
    own = post.input_schema
    asked = {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in own["required"] if name != "token"],
        "properties": {name: one for name, one in own["properties"].items() if name != "token"},
    }
    return WriteOffer(post.id, asked, dict)
