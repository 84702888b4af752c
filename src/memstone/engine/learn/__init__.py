"""What is said becomes memory."""
