"""The result of a study: kept, saved, checked and used."""
