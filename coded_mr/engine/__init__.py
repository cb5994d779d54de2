"""The engine: executes any valid `Plan` over MPI. It knows no scheme by name."""
