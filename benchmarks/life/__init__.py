"""A year of somebody's conversations: whether the memory stays small, quick and true."""
