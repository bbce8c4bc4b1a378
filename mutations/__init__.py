"""Small faults, put into the code one at a time: does a test fail?

`python -m mutations` does it all. `python` and `lua` find what can be changed, `listing` holds what is tried each time,
`matching` finds it again in code that was edited since. `recording` notes which test runs which line, `covering` and
`choosing` pick the tests of a mutation, `running` tries it in a copy of the checkout, and `report` says what to look at.
"""
