"""Models at their providers: where they are, what they cost, and how they are spoken to."""
