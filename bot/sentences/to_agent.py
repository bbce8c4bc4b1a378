"""What people's decisions say to the model of an agent, beside the words that they typed."""


def changes(wanted: str) -> str:
    """Say to a model that a person wants another call than this one, and what it is to do."""
    return (
        "The call was not run. The reviewer asks for changes: make them, and call the tool again. "
        f"The new call will be reviewed. The reviewer wrote:\n{wanted}"
    )
