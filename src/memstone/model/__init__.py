"""Plain data types. They import nothing but errors."""
