"""Where a run's submissions are graded: in this process, or on a dask cluster."""
