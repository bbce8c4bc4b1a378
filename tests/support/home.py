"""Somebody's Home tab, as they open it and press its buttons."""

from tests.support.faults import eventually
from tests.support.people import buttons, words


class Home:
    """Somebody's Home tab."""

    def __init__(self, slack, user):
        self.slack = slack
        self.user = user

    async def open(self):
        """Open the tab, and wait until the bot has written it."""
        opening = self.slack.event({"type": "app_home_opened", "user": self.user, "tab": "home"})
        await self._wait(opening, "hash")
        return self

    async def press(self, name, **given):
        """Press something that leads to another list or page."""
        # The bot writes the tab by itself, too.
        await self._wait(self._pressed(name, **given), "private_metadata")

    async def opened(self, name):
        """Press a button that opens a form, and wait for the form."""
        await self._pressed(name)
        return await self.slack.wait_for_view(self.user)

    async def _pressed(self, name, **given):
        """Press the first button of this name. Each row has a number behind a dot."""
        view = await self.slack.home(self.user)
        found = next(each for each in buttons(view) if each in {name, f"{name}.0"})
        return await self.slack.click_view(self.user, view["id"], found, **given)

    async def _wait(self, acting, until_new):
        before = await self._found(until_new)
        await acting

        async def is_new():
            return await self._found(until_new) != before

        await eventually(is_new)

    async def _found(self, name):
        return (await self.slack.home(self.user) or {}).get(name)

    async def says(self):
        view = await self.slack.home(self.user)
        return words(view["blocks"])

    async def buttons(self):
        return buttons(await self.slack.home(self.user))
