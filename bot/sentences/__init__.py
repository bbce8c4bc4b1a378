"""Every sentence that people read in Slack, grouped by where they meet it. Pure.

For example, a person reads `in_answer.WHO_ARE_YOU` when Slack did not say who pressed a button. Each sentence is a
constant, a constant with gaps (`page = "Page {} of {}".format`), or a function. Nothing is decided here. People,
channels and code are passed in as Slack writes them. Agents and operators read `to_agent`, and `in_refusal` as well.
"""
