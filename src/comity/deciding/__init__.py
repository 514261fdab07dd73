"""From what clients would gain to coalitions, and the utilities that prove them stable."""
