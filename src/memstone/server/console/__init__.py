"""The web console, whose pages are made on the server."""
