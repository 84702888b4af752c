"""The queue behind the calls: jobs, sessions, and who works on them."""
