"""Review: what a person reads before agreeing, made by rules alone.

``explain`` says a definition in plain sentences, ``find_flags`` points at what is worth a look,
``impact_of`` lists what it may reach, keep and be woken by, and ``changes_in_words`` says what
another version would change. No model is asked, so all of it is there when there is none, and
is the same every time.

A definition may be unfinished or hostile here. Nothing raises on it, each part looks at so much
of it and no more, and all text from it is quoted, cut and freed of what cannot be seen.
"""
