"""What a new statement does to what is known."""
