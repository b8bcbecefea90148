"""Every number about quality, as pure functions on numpy and scipy: no Django, no I/O, no clock, no dice."""
