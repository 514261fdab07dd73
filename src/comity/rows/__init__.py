"""A client's rows: encoding as numbers, splits into folds, noise, evaluation. Imported only where rows are."""
