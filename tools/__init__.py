"""What makers of this project run: the documentation site and what is generated for it. Not part of the package."""
