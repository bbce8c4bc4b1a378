"""Several decisions on one card in a short time are few edits, and the first and the last are seen at once."""

import asyncio

from tests.support.builders import an_action
from tests.support.faults import asking, eventually, settled_card, watching


async def test_decisions_that_come_one_after_the_other_share_an_edit(start_bot, slack, client, dana):
    """The person who clicks first sees it on the card, and whoever clicks last does not wait for the others."""
    bot = await start_bot(pace=True)
    async with watching(slack) as watcher:
        asked = client.interrupt(asking(*(an_action(f"pay-{n}") for n in range(5))))
        await client.publish(asked)
        card = await watcher.card(asked.id)

        async def edited():
            return await slack.calls("chat.update")

        review = await dana.opened(card, "review:0")
        await dana.press_in(review, "approve:0")
        first = await eventually(edited)
        for index in range(1, 5):
            await dana.press_in(review, f"approve:{index}")
            # Longer than what happens at the same moment, which was one edit before.
            await asyncio.sleep(0.2)
        await settled_card(bot.store, watcher, asked.id, stage="ended")

        assert len(first) == 1
        assert len(await edited()) <= 3
