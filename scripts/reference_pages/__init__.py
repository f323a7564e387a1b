"""The pages of the reference, each made from the objects the product itself uses."""
