"""Rule-based review of a definition before consent.

``explain`` describes a definition in sentences, ``find_flags`` reports what needs attention,
``impact_of`` lists what it may reach, store and be started by, and ``describe_changes`` says what
another version would change. No model is called, so the review is always available and
deterministic.

The definition may be unfinished or hostile. Nothing raises on it, every part is read up to a limit,
and quoted text is truncated and cleaned of invisible characters.
"""
