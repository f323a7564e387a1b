"""Mutation testing: change one decision in the code, and see whether a test notices."""
