"""Surfaces: how people and programs reach the house.

A surface is a thin skin. It reads what came in (a command line, a request, a call from
a client), hands plain values to the rooms below, and shows what came back: a result,
or the one problem document that every surface shows the same way. It has no rules of
its own: who may do what is decided at the gate, what a definition means is decided by
the language, and a second surface over the same list needs no second decision.

Nothing below imports a surface, so each of them can be taken away or added without
touching what the product does.
"""
