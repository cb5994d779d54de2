"""What the documentation generates from the code: pictures of plans, formulas, commands, docstrings."""
