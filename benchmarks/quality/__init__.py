"""How good what is learned is, on conversations that are given by path."""
