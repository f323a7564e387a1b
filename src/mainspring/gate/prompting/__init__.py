"""Prompts: what waits for a person is brought to where that person is.

The inbox always has it. Whoever wants to be asked elsewhere is told by mail, with the way to the
inbox, or on Telegram, with two buttons. A button is worth as much as the person who presses it:
it counts for the member whose chat it is, once, for exactly the wording that was shown there.
"""
