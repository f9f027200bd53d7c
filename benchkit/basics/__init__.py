"""The ground floor: errors, values, canonical JSON, names and the clock. It touches no file and no network."""
