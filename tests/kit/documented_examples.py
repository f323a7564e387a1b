"""Definitions and recipes as the documents that people know them from print them."""

from __future__ import annotations

import json
from typing import Any, Final

# The digest of the first format, without the comment that it has in on_failure.
DIGEST: Final[dict[str, Any]] = {
    "schema_version": "1.0",
    "name": "Daily competitor digest",
    "goal": "Summarize new competitor content and post to Slack",
    "inputs": {
        "schema": {
            "type": "object",
            "required": ["since"],
            "properties": {
                "since": {"type": "string", "format": "date-time", "default": "$last_fired_at"},
                "tags": {
                    "type": "array",
                    "items": {"type": "string"},
                    "default": ["competitor"],
                },
            },
        }
    },
    "triggers": [
        {"type": "schedule", "config": {"cron": "0 9 * * 1-5", "timezone": "Africa/Kigali"}}
    ],
    "plan": [
        {
            "step_id": "research",
            "action": "agent_task",
            "config": {
                "prompt": "Find documents tagged {{inputs.tags}} indexed since {{inputs.since}}. "
                "Return JSON with bullets and source_doc_ids.",
                "tools": ["search_space.query", "search_space.fetch_document"],
                "model": "anthropic/claude-sonnet-4-7",
                "output_schema": {
                    "type": "object",
                    "required": ["bullets", "source_doc_ids"],
                    "properties": {
                        "bullets": {"type": "array", "items": {"type": "string"}},
                        "source_doc_ids": {"type": "array", "items": {"type": "string"}},
                    },
                },
            },
            "output_as": "summary",
        },
        {
            "step_id": "deliver",
            "action": "slack_post",
            "config": {
                "channel_id": "C0123",
                "message_template": "*Competitor digest*\n\n"
                "{% for b in summary.bullets %}• {{b}}\n{% endfor %}",
            },
        },
    ],
    "execution": {
        "timeout_seconds": 600,
        "max_retries": 2,
        "retry_backoff": "exponential",
        "concurrency": "drop_if_running",
        "budget_cap_usd": 1.50,
        "on_failure": [],
    },
    "metadata": {"tags": ["digest"], "created_from_nl": True},
}

# The same as text, with the comment.
DIGEST_TEXT: Final = json.dumps(DIGEST, ensure_ascii=False, indent=2).replace(
    '"on_failure": []', '"on_failure": [ /* steps to run if main plan fails after retries */ ]'
)

# The integration as it is handed over in TypeScript; its JSON is in declarative_integration.py.
ADDED: Final = """\
add({
  slug: "coinmarketcap-top10",
  name: "CoinMarketCap Top 10",
  description: "Hourly snapshot of the top 10 cryptocurrencies.",
  publisher: "<your-user-id>",
  auth: { type: "api_key", header: "X-CMC_PRO_API_KEY", secret_name: "CMC_API_KEY" },
  trigger: { kind: "cron", cron: "0 * * * *" },
  endpoints: [{
    op: "snapshot",
    method: "GET",
    url: "https://pro-api.coinmarketcap.com/v1/cryptocurrency/listings/latest?limit=10",
    headers: { "X-CMC_PRO_API_KEY": "{{publisher.CMC_API_KEY}}" },
  }],
  mapping: {
    iterate: "$.data[*]",                  // JSONPath over response
    page_type: "crypto_coin_snapshot",
    source_ref_prefix: "cmc:",
    source_ref: "{{symbol}}@{{last_updated}}",   // idempotency key
    title: "{{name}} ({{symbol}}) — ${{quote.USD.price}}",
    frontmatter: {
      symbol: "{{symbol}}",
      price_usd: "{{quote.USD.price}}",
      market_cap_usd: "{{quote.USD.market_cap}}",
      last_updated: "{{last_updated}}",
    },
  },
});
"""
