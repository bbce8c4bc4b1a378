"""Buttons: a click is acknowledged once it is stored, or once the person was told why it is not.

Opening a view decides nothing and is acknowledged first.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from slack_bolt.context.ack.async_ack import AsyncAck

from agent_adapter.errors import AgentAdapterError, ServerFailedError, UnreadableRecordError
from bot.domain.approval import Approval
from bot.domain.errors import (
    DoneBeforeError,
    NotConfirmedError,
    PersonUnknownError,
    SlackError,
    StoreUnavailableError,
)
from bot.listeners.home import HomeTab
from bot.listeners.payloads import Click, parse_click
from bot.listeners.pressed import has_button, why_not_pressed
from bot.listeners.seen_ids import SeenIds
from bot.listeners.services import TELL_WITHIN, Services
from bot.listeners.table import BY_VERB, Decides, Opens, Stores
from bot.rendering.buttons import Button
from bot.rendering.modal.view import HOME
from bot.sentences import in_answer
from bot.slack.client import permalink
from bot.use_cases.answers import Answer, unknown
from bot.use_cases.missed_clicks import note_refused, noting_missed

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Buttons:
    """Handles every button on cards and in views, as the table says."""

    services: Services
    home: HomeTab
    opened: SeenIds = field(default_factory=SeenIds)

    async def press(self, ack: AsyncAck, body: Mapping[str, Any]) -> None:
        """Handle one `block_actions` payload."""
        click = parse_click(body)
        if click.verb == HOME:
            await self.home.press(ack, body)
            return
        until = asyncio.get_running_loop().time() + TELL_WITHIN
        match BY_VERB.get(click.verb):
            case button, Decides() as decides:
                await self._store_first(click, partial(self._decide, click, button, decides), until)
                await ack()
            case button, Stores() as stores:
                await self._store_first(click, partial(self._store, click, button, stores), until)
                await ack()
            case button, Opens() as opens:
                await ack()
                # A copy of a click would take back what its first delivery noted as read.
                if self.opened.is_first(click.trigger_id):
                    self.services.tasks.start(self._open(click, button, opens))
            case None:
                await self.services.refuse(click, in_answer.OUTDATED, until=until)
                await ack()

    async def _store_first(
        self,
        click: Click,
        store: Callable[[], Awaitable[Answer]],
        until: float,
    ) -> None:
        """Raise when it is not stored and the person does not know why: Slack then shows them that the click failed."""
        records, tasks = self.services.store, self.services.tasks
        try:
            async with noting_missed(records, tasks, click.interrupt_id, click.user, click.verb):
                answer = await store()
                await self._enter(click, answer)
                if answer.recorded and click.in_reading and click.view and click.meta:
                    self.services.draw_below(click.view, click.meta, click.user)
                if answer.recorded and (answer.sentence or click.in_review):
                    self._tell(click, answer.sentence, title=in_answer.RECORDED)
                elif answer.sentence:
                    await self.services.refuse(click, answer.sentence, until=until)
        except PersonUnknownError as error:
            await self.services.refuse(click, unknown(error), until=until)
        except (UnreadableRecordError, ServerFailedError) as error:
            why = await self.services.why_unreadable(click.interrupt_id, error)
            await self.services.refuse(click, why, until=until)
        except NotConfirmedError:
            # What it decided counts, so it belongs into the log like any other.
            logger.warning(
                "click.not_confirmed", extra={"interrupt_id": click.interrupt_id, "user": click.user}
            )
            self._tell(click, in_answer.not_confirmed(self._card(click)))
            raise
        except (AgentAdapterError, StoreUnavailableError) as error:
            self._tell(click, in_answer.not_recorded(self._card(click)))
            raise StoreUnavailableError(str(error)) from error

    async def _decide(self, click: Click, button: Button, does: Decides) -> Answer:
        records = self.services.store

        async def answer(state: Approval | None) -> Answer:
            # Of all views, only a review and a reading have such a button, for one call. The Home tab and a menu never have.
            may_hold = (
                click.in_reading if button.scope == "page" else click.in_review and button.scope == "action"
            )
            in_view = click.view and not may_hold
            elsewhere = click.from_menu or click.is_on_home or in_view
            if state is None or elsewhere or not has_button(state, click, button.scope):
                return Answer(False, in_answer.OUTDATED, why="outdated")
            if sentence := why_not_pressed(state, click, button.scope):
                return Answer(False, sentence, draws_anew=True, why="outdated")
            return await does.decide(self.services, state, click)

        state = records.recall(click.interrupt_id) if does.from_memory else None
        found = await answer(state)
        # Reading the record costs more than all the rest, so only what speaks against a click is looked up.
        if not found.recorded and not found.is_final:
            state = await records.admitted(click.interrupt_id)
            found = await answer(state)
        if state and found.draws_anew:
            await self.services.draw_again(state, click.channel, click.ts)
        return found

    async def _store(self, click: Click, button: Button, does: Stores) -> Answer:
        state = await self.services.store.admitted(click.interrupt_id)
        if state is None or not has_button(state, click, button.scope):
            return Answer(False, in_answer.OUTDATED, why="outdated")
        if sentence := await self._asks_otherwise(state, click, button):
            return Answer(False, sentence, why="outdated")
        return await does.store(self.services, state, click)

    async def _open(self, click: Click, button: Button, does: Opens) -> None:
        try:
            async with noting_missed(
                self.services.store, self.services.tasks, click.interrupt_id, click.user, click.verb
            ):
                await self._open_now(click, button, does)
        except PersonUnknownError:
            await self.services.tell(click, in_answer.WHO_ARE_YOU)
        except DoneBeforeError as error:
            logger.info(
                "form.opened_before", extra={"interrupt_id": click.interrupt_id, "reason": str(error)}
            )
        except (UnreadableRecordError, ServerFailedError) as error:
            await self.services.tell(click, await self.services.why_unreadable(click.interrupt_id, error))
        except (AgentAdapterError, SlackError) as error:
            logger.warning(
                "form.not_opened", extra={"interrupt_id": click.interrupt_id, "reason": str(error)}
            )
            # Slack may have shown the view, and only its answer was lost. What is shown then stays.
            shown = click.view.get("hash") if click.view else None
            with suppress(DoneBeforeError):
                await self.services.tell(click, in_answer.NOT_OPENED, over=shown)

    async def _open_now(self, click: Click, button: Button, does: Opens) -> None:
        state = await self.services.store.admitted(click.interrupt_id)
        if state is None or not has_button(state, click, button.scope):
            refused = Answer(False, in_answer.OUTDATED, why="outdated")
        elif sentence := await self._asks_otherwise(state, click, button):
            refused = Answer(False, sentence, why="outdated")
        elif sentence := await does.may(self.services, state, click, button.decision):
            refused = Answer(False, sentence, why="not_allowed")
        else:
            await does.show(self.services, state, click)
            return
        await self._enter(click, refused)
        await self.services.tell(click, refused.sentence)

    async def _enter(self, click: Click, answer: Answer) -> None:
        """Enter a click that stored nothing into the audit trail."""
        records, indices = self.services.store, [click.number] if click.number >= 0 else []
        await note_refused(
            records, click.interrupt_id, click.user, answer, button=click.verb, indices=indices
        )

    async def _asks_otherwise(self, state: Approval, click: Click, button: Button) -> str:
        """Say that what was pressed asks something else than its record, and have its card drawn again."""
        sentence = why_not_pressed(state, click, button.scope)
        if sentence:
            await self.services.draw_again(state, click.channel, click.ts)
        return sentence

    def _card(self, click: Click) -> str:
        """Give the address of the message that was pressed, where there is one."""
        return permalink(self.services.slack.me.url, click.channel, click.ts) if click.ts else ""

    def _tell(self, click: Click, sentence: str, title: str = in_answer.NOT_DONE) -> None:
        self.services.tasks.start(self.services.tell(click, sentence, title=title))
