"""A tool that pays, decorated by langchain-dev-utils, and agents that use it."""

from langchain.agents import create_agent
from langchain_dev_utils.tool_calling import InterruptParams, human_in_the_loop
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from tests.agent_adapter.integrations.office import DONE
from tests.support.scripted_model import ScriptedModel, says


class Till:
    """A tool that pays, and what it paid."""

    def __init__(self):
        self.paid = []

    def decorated(self, given=None):
        """Give the tool with the decorator's own handler, or with this one."""

        def pay(to: str, amount: int = 5) -> str:
            """Pay somebody."""
            self.paid.append((to, amount))
            return f"paid {amount} to {to}"

        return human_in_the_loop(handler=given)(pay)


def agent(pay, *calls):
    """Make an agent that makes these calls in one turn."""
    calls = calls or ({"to": "al"},)
    turn = says(*(("pay", args) for args in calls))
    return create_agent(ScriptedModel(turns=[turn, DONE]), [pay], checkpointer=InMemorySaver())


def asks_with_the_arguments(params: InterruptParams):
    """Pause with the arguments of the call, and read an edit, too."""
    response = interrupt(params["tool_call_args"])
    if response["type"] == "reject":
        return "not paid"
    return params["tool"].invoke(response["args"] if response["type"] == "edit" else params["tool_call_args"])


def asks_in_a_sentence(params: InterruptParams):
    """Pause with plain text, and read the two answers that the page's example reads."""
    response = interrupt(f"I am about to call {params['tool_call_name']}. Go on?")
    if response["type"] == "accept":
        return params["tool"].invoke(params["tool_call_args"])
    if response["type"] == "reject":
        return "User rejected this tool call"
    raise ValueError(f"Unsupported response type: {response['type']}")
