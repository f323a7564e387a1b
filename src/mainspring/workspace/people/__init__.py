"""People: who they are, how they prove it, and where they may go.

A person is one row of ``users`` and has a workspace of their own from the start. They sign in
with a password (``passwords``) or a link that works once (``links``), and a browser keeps
what it was given (``sessions``). Being in a workspace is a row of ``members``; whoever is
asked in joins by an invitation, which only the person it names can use. ``signing_in`` puts
these together and slows down whoever guesses; ``administration`` is what somebody may do who
looks after the installation.
"""
