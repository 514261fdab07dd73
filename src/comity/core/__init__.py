"""What every room uses: names, numbers, files, text, arrays, metrics."""
