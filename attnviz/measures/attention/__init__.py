"""A head's numbers, computed again in another way: scores in a loop, and each row from the rows up to it."""
