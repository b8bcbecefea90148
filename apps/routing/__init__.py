"""Policy as pure functions: what a decision may do by itself, and why. No Django, no I/O, no clock."""
