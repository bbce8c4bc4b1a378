"""The gallery: real situations, drawn by the real bot, with what each of them costs a person."""
