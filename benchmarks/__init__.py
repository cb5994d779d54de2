"""What README's numbers come from. Each prints its own table; none is a test."""
