"""A network is shown some combinations of digits and only their results.

Does it get the combinations it has never seen?
"""
