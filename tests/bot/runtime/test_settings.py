"""What an operator may set, and what they are told when it is wrong."""

import pytest

from bot.domain.errors import SettingsError
from bot.runtime.settings import Settings, load_settings, unknown_variables, variable_of

ENOUGH = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1", "ASSENT_APPROVERS": "U0DANA"}


@pytest.fixture
def read(monkeypatch):
    """Read the settings of an environment with these variables, and without .env."""

    def read(**changed):
        for field in Settings.model_fields:
            monkeypatch.delenv(variable_of(field), raising=False)
            monkeypatch.delenv(f"{variable_of(field)}_FILE", raising=False)
        for name, value in {**ENOUGH, **changed}.items():
            if value is not None:
                monkeypatch.setenv(name, value)
        return load_settings(env_file=None)

    return read


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ASSENT_APROVERS", "did you mean ASSENT_APPROVERS?"),
        ("assent_chanel", "ASSENT_CHANEL is not a setting of the bot, so it does nothing: did you mean ASSENT_CHANNEL?"),
        ("ASSENT_APROVERS_FILE", "did you mean ASSENT_APPROVERS?"),
        ("ASSENT_SLACK_BOT_TOKEN", "did you mean SLACK_BOT_TOKEN?"),
        ("ASSENT_QQ", "docs/reference/settings.md lists all settings"),
    ],
)  # fmt: skip
def test_a_variable_that_nobody_reads_is_reported(read, monkeypatch, name, said):
    """With the nearest name, where one is near."""
    read()
    monkeypatch.setenv(name, "x")

    [sentence] = [line for line in unknown_variables(None) if line.startswith(name.upper())]
    assert sentence.endswith(said)


def test_variables_that_somebody_reads_are_not_reported(read, monkeypatch, tmp_path):
    """Files of secrets, and what agents and workers read; a file is named in the environment only."""
    read(ASSENT_NAMESPACE="x")
    monkeypatch.delenv("ASSENT_REQUIRE_LANES", raising=False)
    for name in ("ASSENT_APPROVERS_FILE", "ASSENT_STATE_KEY", "ASSENT_STATE_KEY_FILE", "ASSENT_AGENT"):
        monkeypatch.setenv(name, "x")
    assert unknown_variables(None) == []

    (tmp_path / ".env").write_text("ASSENT_CHANNEL=C0OPS\nASSENT_CHANNEL_FILE=/run/channel\n")
    assert unknown_variables(str(tmp_path / ".env")) == [
        "ASSENT_CHANNEL_FILE is read from the environment only, so it does nothing in .env"
    ]


def test_three_variables_are_enough(read):
    """Everything else has a default that suits one bot beside one Redis."""
    settings = read()

    assert settings.socket_mode
    assert settings.approvers == ("U0DANA",)
    assert settings.redis_url == "redis://localhost:6379/0"
    assert (settings.namespace, settings.channel, settings.http_port) == ("assent", None, 3000)
    assert settings.requester_may_approve is False


@pytest.mark.parametrize(
    "written", ["U0DANA,S0OPS,channel", "U0DANA, S0OPS, channel", " U0DANA S0OPS\nchannel "]
)
def test_approvers_are_separated_by_commas_or_spaces(read, written):
    """As people write lists."""
    assert read(ASSENT_APPROVERS=written).approvers == ("U0DANA", "S0OPS", "channel")


@pytest.mark.parametrize(
    "written", [None, "", "  ", ",", "dana", "@dana", "u0dana", "U0DANA,dana", "*", "[]", "null"]
)
def test_an_approver_list_that_names_nobody_never_starts(read, written):
    """An empty list must not come to mean everybody."""
    with pytest.raises(SettingsError, match="ASSENT_APPROVERS"):
        read(ASSENT_APPROVERS=written)


@pytest.mark.parametrize("written", [None, "", " "])
def test_with_a_policy_file_its_rules_name_who_may_decide(read, written):
    """Then the list may stay empty."""
    settings = read(ASSENT_APPROVERS=written, ASSENT_POLICY="policy.yaml")

    assert (settings.approvers, settings.policy) == ((), "policy.yaml")


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("ASSENT_APPROVERS", "U0DANA,S0OPS", "approvers: [U0DANA, S0OPS]"),
        ("ASSENT_CHANNEL", "C0OPS", "channel: C0OPS"),
        ("ASSENT_REQUESTER_MAY_APPROVE", "true", "requester_may_decide: true"),
        ("ASSENT_AGENT_CHANNEL_MAY_DECIDE", "true", "agent_channel_may_decide: true"),
    ],
)
def test_settings_and_policy_file_do_not_both_say_who_approves(read, name, value, line):
    """The error names the line to write instead."""
    with pytest.raises(SettingsError) as refused:
        read(**{"ASSENT_APPROVERS": None, "ASSENT_POLICY": "policy.yaml", name: value})

    assert str(refused.value) == (
        f"{name}: ASSENT_POLICY is set, so policy.yaml says this: write `{line}` there under `default:`, and remove "
        "this setting"
    )


def test_an_agent_that_chooses_the_channel_does_not_choose_who_decides(read):
    """Where `channel` is the only approver and no channel is set, nothing could ever be asked."""
    only = {"ASSENT_APPROVERS": "channel"}
    with pytest.raises(SettingsError, match="the agent chooses who decides: set ASSENT_CHANNEL, name people"):
        read(**only)

    assert read(**only, ASSENT_CHANNEL="C0OPS").channel == "C0OPS"
    assert read(**only, ASSENT_AGENT_CHANNEL_MAY_DECIDE="true").agent_channel_may_decide


def test_a_call_to_slack_ends_within_its_lease(read):
    """A bot posts only if it does."""
    assert read().slack_timeout == 10
    assert read(ASSENT_LEASE_SECONDS="6").slack_timeout == 4


def test_a_policy_file_that_is_not_named_is_none(read):
    """As an empty line in .env leaves it."""
    assert read(ASSENT_POLICY="").policy is None
    with pytest.raises(SettingsError, match="ASSENT_APPROVERS is not set"):
        read(ASSENT_APPROVERS="", ASSENT_POLICY="")


@pytest.mark.parametrize("empty", [None, "", " "])
def test_any_setting_may_stand_in_a_file(read, tmp_path, empty):
    """As container platforms mount them, with the line end that editors leave. An empty value counts as not set."""
    (tmp_path / "token").write_text("xoxb-from-file\n")
    (tmp_path / "approvers").write_text("U0DANA\nS0OPS\n")
    files = {"SLACK_BOT_TOKEN": "token", "ASSENT_APPROVERS": "approvers"}

    settings = read(
        **dict.fromkeys(files, empty),
        **{f"{name}_FILE": str(tmp_path / file) for name, file in files.items()},
    )

    assert (settings.slack_bot_token, settings.approvers) == ("xoxb-from-file", ("U0DANA", "S0OPS"))


@pytest.mark.parametrize("name", ["SLACK_BOT_TOKEN", "ASSENT_SIGNING_KEY", "ASSENT_APPROVERS", "REDIS_URL"])
def test_a_setting_that_is_also_in_a_file_is_refused(read, tmp_path, name):
    """Both names are in the error. Otherwise a bot may sign with a key that nobody meant."""
    (tmp_path / "value").write_text("one\n")

    with pytest.raises(SettingsError, match=f"^{name} and {name}_FILE are both set: remove one of them$"):
        read(**{name: "another", f"{name}_FILE": str(tmp_path / "value")})


def test_a_signing_secret_alone_means_http_mode(read):
    """And an app token beside it means Socket Mode."""
    assert not read(SLACK_APP_TOKEN=None, SLACK_SIGNING_SECRET="s").socket_mode
    assert read(SLACK_SIGNING_SECRET="s").socket_mode


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"SLACK_APP_TOKEN": None}, "SLACK_APP_TOKEN is not set: .* or set SLACK_SIGNING_SECRET"),
        (
            {"SLACK_BOT_TOKEN": "xapp-a-secret", "SLACK_APP_TOKEN": "xoxb-a-secret"},
            "^SLACK_BOT_TOKEN: this is an app-level token .*: copy the bot [^\n]*\nSLACK_APP_TOKEN: this is a bot token",
        ),
        ({"SLACK_SIGNING_SECRET": "xapp-1"}, "this is an app-level token .*copy the signing secret"),
        ({"SLACK_BOT_TOKEN": "xoxp-1"}, "this is a user's token .*: copy the bot token"),
        ({"ASSENT_CHANNEL": "#approvals"}, "'#approvals' is not a channel id"),
        ({"REDIS_URL": ""}, "^REDIS_URL: this is not the address of a Redis: write redis://host:6379/0$"),
        (
            {"ASSENT_HTTP_PORT": "abc"},
            "^ASSENT_HTTP_PORT: 'abc' is not a whole number: write a port, as in 3000$",
        ),
        (
            {"ASSENT_AUDIT_DAYS": "1y"},
            "^ASSENT_AUDIT_DAYS: '1y' is not a whole number: write one, as in 365$",
        ),
        ({"ASSENT_SWEEP_SECONDS": "5s"}, "^ASSENT_SWEEP_SECONDS: '5s' is not a number: write one, as in 5$"),
        (
            {"ASSENT_REQUIRE_SIGNED": "maybe"},
            "^ASSENT_REQUIRE_SIGNED: 'maybe' is neither true nor false: write one of them$",
        ),
        (
            {"ASSENT_HTTP_PORT": "99999"},
            "^ASSENT_HTTP_PORT: '99999' should be less than or equal to 65535, as in 3000$",
        ),
        (
            {"ASSENT_DURABILITY": "reploca"},
            "^ASSENT_DURABILITY: 'reploca' should be 'local', 'replica' or 'fsync', as in local$",
        ),
        (
            {"ASSENT_LOG_LEVEL": "loud"},
            "ASSENT_LOG_LEVEL: 'LOUD' should be 'DEBUG', 'INFO', 'WARNING' or 'ERROR'",
        ),
        ({"ASSENT_LEASE_SECONDS": "inf"}, "ASSENT_LEASE_SECONDS: .* finite"),
        (
            {"SLACK_APP_TOKEN": None, "SLACK_APP_TOKEN_FILE": "/nowhere/token"},
            "SLACK_APP_TOKEN_FILE: there is no file /nowhere/token: name one that this user can read$",
        ),
        (
            {"ASSENT_SIGNING_KEY_FILE": "/nowhere/key.pem"},
            "there is no file /nowhere/key.pem: name one .*; `python -m bot keys signing create` makes one$",
        ),
        (
            {"ASSENT_SEAL_KEY_FILE": "/"},
            "ASSENT_SEAL_KEY_FILE: Is a directory: /: name one that .*signing seal` makes one$",
        ),
        (
            {"ASSENT_DURABILITY": "replica", "ASSENT_DURABILITY_REPLICAS": "0"},
            "ASSENT_DURABILITY_REPLICAS: .* greater",
        ),
        ({"ASSENT_DURABILITY_REPLICAS": "2"}, "does nothing without ASSENT_DURABILITY=replica"),
    ],
)
def test_a_wrong_setting_is_named(read, changed, sentence):
    """With what to write instead, and without a secret."""
    with pytest.raises(SettingsError, match=sentence) as refused:
        read(**changed)

    assert "a-secret" not in str(refused.value)


def test_what_has_to_confirm_a_click_is_read(read):
    """Redis alone by default. An empty number of replicas is none."""
    assert read().durability == "local"
    found = read(ASSENT_DURABILITY="replica", ASSENT_DURABILITY_REPLICAS="2")
    assert (found.durability, found.durability_replicas) == ("replica", 2)
    assert read(ASSENT_DURABILITY="replica", ASSENT_DURABILITY_REPLICAS="").durability_replicas is None


def test_the_log_level_may_be_written_small(read):
    """As people write it."""
    assert read(ASSENT_LOG_LEVEL="warning").log_level == "WARNING"


def test_slacks_address_gets_the_slash_that_its_library_needs(read):
    """slack_sdk joins the method's name to it as it stands."""
    assert read(SLACK_API_URL="http://127.0.0.1:8100/api").slack_api_url == "http://127.0.0.1:8100/api/"


def test_settings_may_stand_in_a_dotenv_file(read, monkeypatch, tmp_path):
    """The environment goes before it."""
    (tmp_path / ".env").write_text("ASSENT_CHANNEL=C0FILE\nASSENT_NAMESPACE=file\n")
    read(ASSENT_NAMESPACE="environment")
    monkeypatch.chdir(tmp_path)

    settings = load_settings()

    assert (settings.channel, settings.namespace) == ("C0FILE", "environment")


def test_lines_of_a_dotenv_file_that_cannot_be_read_are_named_and_never_shown(monkeypatch, tmp_path, caplog):
    """Nor does the library beneath say it in its own words."""
    (tmp_path / ".env").write_text("ASSENT_CHANNEL=C0FILE\nSLACK_BOT_TOKEN: s3cret\nREDIS_URL='s3cret\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSENT_REQUIRE_LANES", raising=False)

    assert unknown_variables() == []
    with pytest.raises(SettingsError, match=r"^\.env cannot be read at line 2, 3: write NAME") as refused:
        load_settings()

    assert ("s3cret" in str(refused.value), caplog.records) == (False, [])


# --- On-call schedules: addresses and a key, which are secrets ----------------------------------------------------


def test_calendars_are_named(read):
    """An address may have any signs of an address in it."""
    found = read(ASSENT_CALENDARS="rota=https://a.example/x.ics?a=b  night=https://b.example/")

    assert found.calendar_addresses == {"rota": "https://a.example/x.ics?a=b", "night": "https://b.example/"}
    assert found.pagerduty_token is None


@pytest.mark.parametrize(
    "value", ["https://a.example/s3cret", "rota=http://a.example/s3cret", "Rota=https://a.example/s3cret"]
)
def test_a_wrong_calendar_is_named_by_its_number_and_never_shown(read, value):
    """Whoever has the address reads the calendar."""
    with pytest.raises(SettingsError, match="ASSENT_CALENDARS: entry 2 is not name=https://…") as refused:
        read(ASSENT_CALENDARS=f"night=https://b.example/s3cret {value}")

    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    "value", ["http://api.pagerduty.com", "api.pagerduty.com", "https://", "file:///etc/passwd"]
)
def test_the_key_of_pagerduty_is_sent_over_https_only(read, value):
    """Nobody on the way reads it."""
    with pytest.raises(SettingsError, match=r"ASSENT_PAGERDUTY_URL: .* is not a safe address"):
        read(ASSENT_PAGERDUTY_URL=value)
