"""Background work: jobs, sessions and workers."""
