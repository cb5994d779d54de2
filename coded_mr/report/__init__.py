"""Reports for people: what several plans of one job took, as a table, as JSON and as a picture."""
