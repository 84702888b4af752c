"""Every vector store beside its vendor's own client: processor time, and whether the same is found."""
