"""The sketcher: a definition made out of words by rules, without a model.

The same words always come to the same sketch. A request is cut into clauses (``request``,
``reading``). What it says about moments becomes triggers (``moments``, ``happenings``,
``triggers``); each clause is a thing to read, to think about or to do (``intents``), gathered into
a plan (``plan``) and built as steps (``planning``, ``reads``, ``thinking``, ``acts``). What was not
said is a question, and what found no place is told. A definition that is there is changed by the
same rules (``changing``, ``adding``, ``removing``).
"""
