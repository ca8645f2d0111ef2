"""Event patterns over sorted events: joins, picks, consumption, and the columns of matches."""
