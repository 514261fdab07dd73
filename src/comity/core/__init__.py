"""Code that all other packages use: names, numbers, settings, files, text, arrays, metrics."""
