"""The sketcher: building a definition from a request by rules, without a model.

It is deterministic. ``request`` and ``request_tokens`` split a request into clauses. Times and
events become triggers (``schedule_triggers``, ``trigger_events``, ``triggers``); each clause is a
read, a model task or an action (``intents``), collected into a plan (``plan``) and built as steps
(``planning``, ``read_steps``, ``agent_step``, ``action_steps``, ``tool_steps``). Missing values
become questions, and unused parts are reported. Existing definitions are edited by the same rules
(``definition_changes``, ``schedule_changes``, ``replacements``).
"""
