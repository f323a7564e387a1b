"""Mainspring runs automations that people describe, read, agree to and then trust.

A definition is the program. A trigger turns a moment into a firing; a firing becomes a
run; a run walks its steps; a step is an action; an action touches the world only
through one door, the gate. The rooms, from the street down:

surfaces → authoring | recipes → triggers → runs → actions → gate → workspace
→ definition | store → contracts → settings, all built by hand in ``wiring.py``.
"""

__version__ = "0.2.0"
