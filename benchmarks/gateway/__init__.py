"""What the gateway costs a chat: processor time, waiting, and room for many slow streams."""
