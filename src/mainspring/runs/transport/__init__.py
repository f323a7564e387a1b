"""Transports for wake-up hints to workers: Postgres NOTIFY, or Celery messages.

The run row is the source of truth and the claim decides; a hint is only a reason to look. A lost
message costs the time until the next poll, and a duplicate, forged or late one costs a claim that
finds nothing.
"""
