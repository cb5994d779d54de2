"""The documentation: pages in Markdown, and what is generated for them from the code."""
