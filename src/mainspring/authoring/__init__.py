"""Authoring: words become a definition that a person has read.

What somebody asks for is turned into a proposal, judged by the same validator that
judges a definition when it is saved and again when it runs, explained in plain
sentences, and shown for approval. A proposal is nothing yet: nobody has saved it, it
has no version, and it can do nothing.

Text that a model wrote is data here and stays data. It becomes part of a program only
when a person has seen it and agreed, and every change that widens what an automation
may do asks again.

An automation that is one script is made by following a playbook, which is data too: who
follows it asks one question at a time and calls the capabilities that stand here.
"""
