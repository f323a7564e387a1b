"""What the commands that fuzz are made of: a house to be asked, people who ask, and a report."""
