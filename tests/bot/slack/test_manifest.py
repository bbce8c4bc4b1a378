"""The manifest that Slack is given, and the scopes in it."""

import pytest

from bot.slack.manifest import SCOPES, build_manifest, needed_scopes, to_yaml
from tests.support.commands import ROOT


@pytest.mark.parametrize(
    ("file", "arguments"),
    [
        ("slack-manifest.socket.yaml", {}),
        ("slack-manifest.http.yaml", {"mode": "http", "url": "https://assent.example.com"}),
    ],
)
def test_the_manifests_in_the_repository_are_those_that_the_command_prints(file, arguments):
    """Whoever pastes the file gets the app that this version needs."""
    assert (ROOT / "deploy" / file).read_text() == to_yaml(build_manifest(**arguments))


def test_an_app_that_writes_to_people_has_a_place_for_it():
    """Without its messages tab, Slack refuses every direct message of an app."""
    assert build_manifest(direct=True)["features"]["app_home"]["messages_tab_enabled"] is True
    assert build_manifest()["features"]["app_home"]["messages_tab_enabled"] is False


def test_an_address_may_end_in_a_slash():
    """Slack calls the same path of it then."""
    assert build_manifest("http", "https://a.example/") == build_manifest("http", "https://a.example")


@pytest.mark.parametrize(
    "url",
    [None, "", "http://a.example", "a.example", "https://", "https://a b", "https://a\n", "https://a?x=1", "https://\u200ba", "https://u@a"],
)  # fmt: skip
def test_http_mode_without_a_plain_address_is_refused(url):
    """The sentence names the option."""
    with pytest.raises(ValueError, match="--url https://"):
        build_manifest("http", url)


def test_news_of_user_groups_is_asked_for_where_groups_decide():
    """Whoever left one is forgotten at once. The other events are in the files of the repository."""
    always, more = (
        build_manifest(groups=groups)["settings"]["event_subscriptions"]["bot_events"]
        for groups in (False, True)
    )

    assert more == [*always, "subteam_members_changed"]


def test_a_manifest_grants_exactly_what_the_bot_needs():
    """User groups and direct messages are asked for only by who has them; its command is there for all."""
    for groups, approvers in [(False, ["U0DANA", "channel"]), (True, ["S0OPS"])]:
        for direct in (False, True):
            scopes = build_manifest(groups=groups, direct=direct)["oauth_config"]["scopes"]["bot"]
            needed = needed_scopes(approvers, direct=direct, standing=True)
            assert tuple(scopes) == (*needed,)
    assert needed_scopes(["U0DANA"]) == tuple(SCOPES)


def test_addresses_of_people_are_read_only_where_whoever_is_on_call_decides():
    """Nobody else is asked for that scope."""
    without, with_it = (
        build_manifest(on_call=on_call)["oauth_config"]["scopes"]["bot"] for on_call in (False, True)
    )

    assert [scope for scope in with_it if scope not in without] == ["users:read.email"]
