"""Receipts: signed statements of a bot that a person approved exactly this call, and their checks.

A click that decides makes one statement. The receipt of a record is the list of its statements.
"""
