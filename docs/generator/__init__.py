"""Makes the reference pages; see ../generate.py."""
