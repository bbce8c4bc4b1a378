"""Everything that the bot keeps of its records in Redis: typed methods over the scripts."""

from bot.store.admission import Admitting
from bot.store.drafts import Drafts
from bot.store.ending import Endings
from bot.store.messages import Messages
from bot.store.waiting import Waiting


class ApprovalStore(Admitting, Endings, Messages, Drafts, Waiting):
    """Reads and writes records. Every write is safe to repeat, and all raise ServerUnreachableError when Redis does not answer."""
