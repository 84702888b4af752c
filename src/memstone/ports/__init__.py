"""Small protocols the engine is written against; each docstring is a contract."""
