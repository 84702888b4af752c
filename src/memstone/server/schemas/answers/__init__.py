"""What answers hold, for the description of the service alone: nothing here is loaded before somebody asks for it."""
