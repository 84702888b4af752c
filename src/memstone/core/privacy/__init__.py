"""What must not be stored, shown or obeyed."""
