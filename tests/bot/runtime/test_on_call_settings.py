"""The settings for on-call schedules: addresses and a key, which are secrets."""

import pytest

from bot.domain.errors import SettingsError
from bot.runtime.settings import load_settings


@pytest.fixture
def environment(monkeypatch):
    """What a bot needs."""
    for name, value in {
        "SLACK_BOT_TOKEN": "xoxb-1",
        "SLACK_APP_TOKEN": "xapp-1",
        "ASSENT_APPROVERS": "U0DANA",
    }.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def test_calendars_are_named(environment):
    """An address may have any signs of an address in it."""
    environment.setenv("ASSENT_CALENDARS", "rota=https://a.example/x.ics?a=b  night=https://b.example/")

    found = load_settings(None)

    assert found.calendar_addresses == {"rota": "https://a.example/x.ics?a=b", "night": "https://b.example/"}
    assert load_settings(None).pagerduty_token is None


@pytest.mark.parametrize(
    "value", ["https://a.example/s3cret", "rota=http://a.example/s3cret", "Rota=https://a.example/s3cret"]
)
def test_a_wrong_calendar_is_named_by_its_number_and_never_shown(environment, value):
    """Whoever has the address reads the calendar."""
    environment.setenv("ASSENT_CALENDARS", f"night=https://b.example/s3cret {value}")

    with pytest.raises(SettingsError, match="ASSENT_CALENDARS: entry 2 is not name=https://…") as refused:
        load_settings(None)

    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    "value", ["http://api.pagerduty.com", "api.pagerduty.com", "https://", "file:///etc/passwd"]
)
def test_the_key_of_pagerduty_is_sent_over_https_only(environment, value):
    """Nobody on the way reads it."""
    environment.setenv("ASSENT_PAGERDUTY_URL", value)

    with pytest.raises(SettingsError, match=r"ASSENT_PAGERDUTY_URL: .* is not a safe address"):
        load_settings(None)
