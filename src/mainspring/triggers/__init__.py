"""Triggers: schedules, webhook requests and events that start runs.

Each trigger type is one module with one ``TRIGGER``: the schema of its config, which the validator
uses, and the schema of its payload. A manual run has no trigger.

- ``schedule``: a cron expression in a time zone, with a policy for missed fire times;
- ``webhook``: a request from outside whose body is mapped to inputs;
- ``event``: events of one type in the log that match a filter; ``presets`` are named ones;
- ``chat_message``: messages to a bot; ``chat_intake`` records them, ``chat_replies`` answers.

``scheduler`` fires schedules, ``matcher`` fires event triggers, and ``webhook_receiver`` records
webhook requests; ``watch`` runs the loops, in one process or in many.

Every firing has a dedup key that is computed from its source, so that two watchers of one trigger
cannot start two runs.
"""
