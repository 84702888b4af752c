"""Parts of every change: facts, versions, links, turns, entities."""
