"""Changes to what is stored: erase it, mask it, undo what was done, hand it over."""
