"""What an automation will cost, said before it is set going: a range, next to its caps.

Two things are reckoned and multiplied. How often it runs in thirty days (``rates``): a schedule
is counted, events are looked up, what a person or a caller decides is not guessed. What one run
costs (``costs``): measured where it has run, after the workspace's own asks where there are
some, and otherwise bounded by what the definition allows. Each number says what it rests on.
"""
