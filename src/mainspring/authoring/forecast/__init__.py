"""Cost forecast of an automation: a range next to its caps.

Two estimates are multiplied. Runs in thirty days (``rates``): schedules are counted, events are
looked up, and manual and webhook starts are taken from history or unknown. Cost per run
(``costs``): measured from its own runs, else from similar calls in the workspace, else bounded by
the definition. Each number names its basis.
"""
