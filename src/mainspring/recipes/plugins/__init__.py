"""Third-party integrations: a scaffold and the validator.

The validator applies the requirements of the built-in integrations to a package, tier by tier, and
reports problems with a pointer into the manifest or the capability's name.
"""
