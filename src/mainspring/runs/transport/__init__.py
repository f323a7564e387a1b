"""How workers hear of runs that are due: through Postgres, or by messages of Celery.

The run row is the truth and the claim decides; what travels here is a reason to look. So a
message that is lost costs the time until the next look, and one that is doubled, forged or
late costs a look that finds nothing.
"""
