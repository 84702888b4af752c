"""How much the pages of the console cost a server."""
