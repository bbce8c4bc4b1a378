"""The gallery: real situations, drawn by the real bot."""
