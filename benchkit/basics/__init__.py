"""The ground layer: errors, values, canonical JSON, names and the clock. It touches no file and no network."""
