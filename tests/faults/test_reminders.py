"""A reminder that is posted while something breaks: said once, and not forgotten."""

import asyncio

import pytest

from bot.app import running
from tests.conftest import settings_for
from tests.faults.test_bot_killed import QUICK, MortalBot, nothing_undrawn
from tests.support.builders import an_action
from tests.support.faults import asking, rounds, settled_card

pytestmark = pytest.mark.nightly


@pytest.fixture
def settings(playground, redis_url, tmp_path):
    """Rules that remind after two seconds."""
    path = tmp_path / "policy.yaml"
    path.write_text(
        "default: {channel: C0APPROVALS, approvers: [U0DANA], reminders: [2s], extend: 30m, assign: 10m}"
    )
    return settings_for(playground, redis_url, policy=str(path), **QUICK)


def reminders(watcher, interrupt_id):
    return [card for card in watcher.cards(interrupt_id) if card["text"].startswith("Still waiting: ")]


class MortalReminder(MortalBot):
    """A replica that dies once Slack has taken a reminder and before the record has it."""

    async def start(self):
        await super().start()
        store = self.bot.store
        die, store.save_part = store.save_part, type(store).save_part.__get__(store)
        draw = store.save_part

        async def draw_cards_only(interrupt_id, part, **drawn):
            return await (
                die(interrupt_id, part, **drawn) if part.is_beside else draw(interrupt_id, part, **drawn)
            )

        store.save_part = draw_cards_only


@pytest.mark.timeout(300)
async def test_death_between_post_and_save_leaves_one_reminder(settings, client, store, watcher):
    """Whoever takes over finds it in the thread."""
    for _ in range(rounds(1, 10)):
        async with asyncio.timeout(120):
            mortal = MortalReminder(settings)
            await mortal.start()
            interrupt_id = await client.publish(client.interrupt(asking(an_action())))
            await mortal.died.wait()
            await mortal.bury()
            assert len(reminders(watcher, interrupt_id)) == 1

            async with running(settings):
                # Slack shows the reminder already; it is not forgotten once the record has it.
                await nothing_undrawn(store)
                await settled_card(store, watcher, interrupt_id)

            assert len(reminders(watcher, interrupt_id)) == 1
