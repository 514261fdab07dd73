"""Methods beside each other: on a user's table, and on the data of the paper."""
