"""Plain data: what everything else speaks in. Imports nothing but errors."""
