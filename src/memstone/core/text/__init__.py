"""Words and texts: how they are taken apart, stemmed, folded and counted."""
