"""Event patterns: from a query to a program of joins over candidate events."""
