"""Standing rules: what people have agreed to so often that they may agree to it once for all.

After enough drafts of one shape were confirmed and none of them was changed, a rule is proposed:
the same automation may do the same thing to the same receivers, with other words. Nobody has it
before a person accepts it. A version that sends something else does not have it, and an edit or a
rejection of a draft takes it away again.
"""
