"""The experiments of one paper each: `section()` plans them and returns Markdown."""
