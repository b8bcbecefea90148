"""Every number about quality, as pure functions on numpy and scipy: no Django, no I/O, no clock, no dice.

`scipy.stats` and `scipy.optimize` are named in full where they are used: so they come with the first use, and not with
every process that starts, which would take half a second and 20 MB more.
"""
