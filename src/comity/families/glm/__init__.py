"""Linear and logistic models: exact fronts from sums over rows."""
