"""The web console: pages that a person reads, made on the server and served at ``/``."""
