"""What an operator sets, read once."""

import os
import re
from collections.abc import Callable, Collection, Mapping
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar
from urllib.parse import urlsplit

from dotenv.parser import Binding, parse_stream
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from agent_adapter.cipher import Cipher, text_from_environment
from agent_adapter.contract.names import Namespace, nearest
from agent_adapter.errors import InvalidRequestError
from agent_adapter.redis.address import address_of
from agent_adapter.redis.credentials import load_provider
from bot.domain.errors import SettingsError

DurabilityMode: TypeAlias = Literal["local", "replica", "fsync"]
"""When a click counts as stored: once Redis has it, once its replicas have it, or once it is on its disk."""

NOT_KEPT = (
    "ASSENT_AUDIT_DIR is not set, so who decided what is in Redis alone, and the oldest is lost when it takes more than "
    "256 MB: name a folder that outlives the bot"
)
"""What can be lost without a folder for the audit trail."""

_APPROVER = re.compile(r"[UWS][A-Z0-9]{2,}|channel")
_CHANNEL = re.compile(r"[CGD][A-Z0-9]{2,}")
_THIS_MACHINE = {"127.0.0.1", "::1", "localhost"}

_PREFIX = "ASSENT_"
# Settings of agents, workers and examples, which can share an environment with a bot.
_OF_OTHERS = frozenset({"ASSENT_AGENT", "ASSENT_AGENT_KEY", "ASSENT_KEY", "ASSENT_STATE_KEY", "ASSENT_URL"})

# By how a token of Slack begins: the setting for it, and what it is.
_TOKENS = {
    "xoxb": ("SLACK_BOT_TOKEN", "a bot token (xoxb-…)"),
    "xapp": ("SLACK_APP_TOKEN", "an app-level token (xapp-…)"),
    "xoxp": ("", "a user's token (xoxp-…)"),
}

_NAMES = {
    "slack_bot_token": "SLACK_BOT_TOKEN",
    "slack_app_token": "SLACK_APP_TOKEN",
    "slack_signing_secret": "SLACK_SIGNING_SECRET",
    "slack_api_url": "SLACK_API_URL",
    "redis_url": "REDIS_URL",
}


def _is_safe_address(text: str) -> bool:
    """Whether nobody on the way reads what is sent there: HTTPS, or this machine."""
    try:
        found = urlsplit(text)
        host = found.hostname
    except ValueError:
        return False
    return bool(host) and (found.scheme == "https" or (found.scheme == "http" and host in _THIS_MACHINE))


class _Environment(BaseSettings):
    """Each setting is an environment variable, or, where that is empty, in the file that `_FILE` after its name names."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003  # pydantic-settings passes it
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        files = InitSettingsSource(settings_cls, _named_files(settings_cls))
        return init_settings, files, env_settings, dotenv_settings


_Kind = TypeVar("_Kind", bound=_Environment)


def _if(check: Callable[[str], object]) -> AfterValidator:
    """Take what the library can read."""

    def checked(value: str | None) -> str | None:
        try:
            if value is not None:
                check(value)
        except InvalidRequestError as error:
            raise ValueError(str(error)) from error
        return value

    return AfterValidator(checked)


def _channel_id(value: str | None) -> str | None:
    if value and not _CHANNEL.fullmatch(value):
        raise ValueError(f"{value!r} is not a channel id (C…): copy it from the channel's details in Slack")
    return value


def _safe_address(value: str) -> str:
    if not _is_safe_address(value):
        raise ValueError(f"{value!r} is not a safe address: write https://api.pagerduty.com, or leave it out")
    return value.rstrip("/")


def _with_slash(value: str) -> str:
    if not value.startswith(("https://", "http://")):
        raise ValueError(f"{value!r} is not an address: write https://slack.com/api/, or leave it out")
    # slack_sdk appends the method's name to it without a slash.
    return value if value.endswith("/") else f"{value}/"


_EMPTY_IS_NONE = BeforeValidator(lambda value: None if value == "" else value)
_Text = Annotated[str | None, _EMPTY_IS_NONE]
_Credentials = Annotated[_Text, _if(load_provider)]
_ChannelId = Annotated[_Text, AfterValidator(_channel_id)]


SLACK_TIMEOUT = 10.0
"""Seconds that one call to Slack may take at most."""


class Settings(_Environment):
    """What a running bot needs."""

    model_config = SettingsConfigDict(
        env_prefix="ASSENT_", frozen=True, extra="ignore", populate_by_name=True
    )

    slack_bot_token: str = Field(alias="SLACK_BOT_TOKEN", min_length=1)
    slack_signing_secret: str | None = Field(None, alias="SLACK_SIGNING_SECRET")
    """With this secret, and without an app token, Slack calls `/slack/events`."""
    slack_app_token: str | None = Field(None, alias="SLACK_APP_TOKEN", validate_default=True)
    """With this token, the bot connects in Socket Mode and needs no public address."""
    slack_api_url: Annotated[str, AfterValidator(_with_slash)] = Field(
        "https://slack.com/api/", alias="SLACK_API_URL"
    )
    redis_url: Annotated[str, _if(address_of)] = Field("redis://localhost:6379/0", alias="REDIS_URL")
    redis_credentials: _Credentials = None
    """A `CredentialProvider` of redis-py that gives user and password, as `module:attribute`."""

    durability: DurabilityMode = "local"
    """When a click counts as stored: once Redis has it, once its replicas have it, or once it is on its disk."""
    durability_replicas: Annotated[int | None, _EMPTY_IS_NONE] = Field(None, ge=1)
    """How many replicas have to confirm a click. Without it, all."""

    namespace: Namespace = "assent"
    policy: _Text = None
    """A file of rules. Then channel, approvers, requester_may_approve and agent_channel_may_decide are said there."""
    channel: _ChannelId = None
    """Where to ask when the agent names no channel."""
    approvers: tuple[str, ...] | str = Field("", validate_default=True)
    """Who may decide: user ids, user group ids, or `channel` for the members of the card's channel."""
    requester_may_approve: bool = False
    """Whether the person for whom the agent acts may approve."""
    agent_channel_may_decide: bool = False
    """Whether `channel` among the approvers also means the members of a channel that the agent chose."""
    http_host: str = "0.0.0.0"  # noqa: S104  # a container's port is published on purpose
    http_port: int = Field(3000, ge=0, le=65535)
    api_requests_per_minute: int = Field(600, ge=1)
    """How many requests one key of the HTTP API may send to one replica."""
    log_level: Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(str.upper)] = "INFO"

    signing_key: _Text = Field(None, repr=False)
    """The private key that signs what people decide: PEM."""
    seal_key: _Text = Field(None, repr=False)
    """The keys that seal what bots keep in Redis: 32 bytes in base64, separated by commas, the newest first."""
    ring: _Text = None
    """The file of the public keys with which the bot checks what it reads back."""
    require_signed: bool = False
    """Whether a bot without a key and a ring does not start."""

    record_key: _Text = Field(None, repr=False)
    """The keys that encrypt what is asked and decided in Redis, newest first, separated by commas."""

    audit_dir: _Text = None
    """The folder for the log of the audit trail."""
    audit_channel: _ChannelId = None
    """The channel that gets the head of the log each day. Without it, nobody gets it."""
    audit_days: int = Field(365, ge=8)
    """For how many days entries are kept, in that folder or without it in Redis."""

    pagerduty_token: _Text = None
    """The key of PagerDuty's API. It only has to read."""
    pagerduty_url: Annotated[str, AfterValidator(_safe_address)] = "https://api.pagerduty.com"
    """Where PagerDuty's API is."""
    calendars: dict[str, str] | str = Field("", validate_default=True)
    """Names of calendars with their addresses, as `name=https://…`, separated by spaces."""

    lease_seconds: float = Field(30.0, gt=0, allow_inf_nan=False)
    """How long leased work and one call to Slack may take before another replica takes over."""
    sweep_seconds: float = Field(5.0, ge=0.1, allow_inf_nan=False)
    """How often the bot looks for owed work without a wake-up."""
    pace: bool = True
    """Wait to stay within Slack's rate limits. Turn it off only for a server without limits."""

    @field_validator("slack_bot_token", "slack_app_token", "slack_signing_secret")
    @classmethod
    def _not_another_one(cls, value: str | None, info: ValidationInfo) -> str | None:
        variable = variable_of(str(info.field_name))
        belongs, kind = _TOKENS.get((value or "").partition("-")[0], (variable, ""))
        if belongs != variable:
            # A token is a secret, so no error repeats it.
            raise ValueError(f"this is {kind}: {CURES[variable]}")
        return value

    @field_validator("slack_app_token")
    @classmethod
    def _one_mode(cls, value: str | None, info: ValidationInfo) -> str | None:
        if not value and not info.data.get("slack_signing_secret"):
            raise PydanticCustomError("missing", "neither Socket Mode nor HTTP mode")
        return value

    @field_validator("approvers", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(filter(None, re.split(r"[\s,]+", value))) if isinstance(value, str) else value

    @field_validator("approvers")
    @classmethod
    def _known_approvers(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if not value and info.data.get("policy") is None:
            raise PydanticCustomError("missing", "nobody may decide")
        for entry in value:
            if not _APPROVER.fullmatch(entry):
                raise ValueError(
                    f"{entry!r} is not an approver: write a user id (U…) or a user group id (S…), copied from Slack, "
                    "or the word channel"
                )
        return value

    @field_validator("calendars", mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        found = dict(each.partition("=")[::2] for each in value.split())
        # An address is a secret, because everybody who has it can read the calendar. So no error repeats it.
        for number, (name, address) in enumerate(found.items(), 1):
            if not re.fullmatch("[a-z0-9][a-z0-9-]{0,39}", name) or not _is_safe_address(address):
                raise PydanticCustomError(
                    "calendar", "entry {number} is not name=https://…", {"number": number}
                )
        return found

    @field_validator("record_key")
    @classmethod
    def _record_keys(cls, value: str | None) -> str | None:
        try:
            Cipher.parse(value)
        except InvalidRequestError as error:
            # The sentence begins with the name of the setting, which is put before it.
            raise ValueError(str(error).partition(": ")[2]) from error
        return value

    @model_validator(mode="after")
    def _not_alone(self) -> "Settings":
        """Refuse what does nothing without another setting."""
        if self.durability_replicas and self.durability != "replica":
            raise ValueError(
                "ASSENT_DURABILITY_REPLICAS does nothing without ASSENT_DURABILITY=replica: set both, or none"
            )
        allows_it = self.policy or self.channel or self.agent_channel_may_decide
        if {*self.approvers} == {"channel"} and not allows_it:
            what = "ASSENT_APPROVERS names only channel, and ASSENT_CHANNEL is not set"
            cure = "set ASSENT_CHANNEL, name people or groups, or write ASSENT_AGENT_CHANNEL_MAY_DECIDE=true"
            raise ValueError(f"{what}, so the agent chooses who decides: {cure}")
        return self

    @model_validator(mode="after")
    def _policy_says_it_alone(self) -> "Settings":
        """Refuse what a policy file says as well, so that one place says who approves."""
        if not self.policy:
            return self
        written = {
            "approvers": f"approvers: [{', '.join(self.approvers)}]" if self.approvers else "",
            "channel": f"channel: {self.channel}" if self.channel else "",
            "requester_may_approve": "requester_may_decide: true" * self.requester_may_approve,
            "agent_channel_may_decide": "agent_channel_may_decide: true" * self.agent_channel_may_decide,
        }
        twice = [
            f"{variable_of(name)}: ASSENT_POLICY is set, so {self.policy} says this: write `{line}` there under "
            "`default:`, and remove this setting"
            for name, line in written.items()
            if line
        ]
        if twice:
            raise ValueError("\n".join(twice))
        return self

    @property
    def slack_timeout(self) -> float:
        """Seconds that one call to Slack may take. A bot posts only if the call ends within its lease."""
        return min(SLACK_TIMEOUT, self.lease_seconds * 2 / 3)

    @property
    def calendar_addresses(self) -> dict[str, str]:
        """The address of each calendar, by its name."""
        return self.calendars if isinstance(self.calendars, dict) else {}

    @property
    def socket_mode(self) -> bool:
        return bool(self.slack_app_token)


class Access(_Environment):
    """How Slack and Redis are reached, for commands that need nothing else, or that look while the rest is missing."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", populate_by_name=True, defer_build=True)

    slack_bot_token: str = Field("", alias="SLACK_BOT_TOKEN")
    slack_app_token: str = Field("", alias="SLACK_APP_TOKEN")
    slack_api_url: str = Field("https://slack.com/api/", alias="SLACK_API_URL")
    redis_url: str = Field("redis://localhost:6379/0", alias="REDIS_URL")
    redis_credentials: _Credentials = Field(None, alias="ASSENT_REDIS_CREDENTIALS")
    namespace: str = Field("assent", alias="ASSENT_NAMESPACE")
    policy: str = Field("", alias="ASSENT_POLICY")
    audit_dir: str = Field("", alias="ASSENT_AUDIT_DIR")
    ring: str = Field("", alias="ASSENT_RING")
    record_key: str = Field("", alias="ASSENT_RECORD_KEY", repr=False)


def _named_files(settings: type[BaseSettings]) -> dict[str, Any]:
    """Read NAME from the file that NAME_FILE names, as with mounted container secrets."""
    found = {}
    for field, about in settings.model_fields.items():
        variable = variable_of(field)
        if os.environ.get(f"{variable}_FILE"):
            try:
                found[about.alias or field] = text_from_environment(variable).strip()
            except InvalidRequestError as error:
                makes = MAKES.get(variable) if isinstance(error.__cause__, OSError) else None
                raise SettingsError(f"{error}; `{makes}` makes one" if makes else str(error)) from error
    return found


def variable_of(field_name: str) -> str:
    """Give the environment variable of a setting."""
    return _NAMES.get(field_name, f"ASSENT_{field_name.upper()}")


def unknown_variables(env_file: str | None = ".env") -> list[str]:
    """Name the variables that look like settings of the bot and are not, each with the setting that may be meant."""
    known = {variable_of(name) for name in Settings.model_fields} | _OF_OTHERS
    found = dict.fromkeys(map(str.upper, _values_in(env_file)), known)
    found |= {name.upper(): known | {f"{name}_FILE" for name in known} for name in os.environ}
    return [
        _unknown(name, known)
        for name, allowed in sorted(found.items())
        if name.startswith(_PREFIX) and name not in allowed
    ]


def is_given(variable: str, env_file: str | None = ".env") -> bool:
    """Whether a setting is in the environment, in a file that is named there, or in .env. Its value is not looked at."""
    given = (os.environ.get(variable), os.environ.get(f"{variable}_FILE"), _values_in(env_file).get(variable))
    return any(each and each.strip() for each in given)


def _values_in(env_file: str | None) -> Mapping[str, str | None]:
    try:
        return {each.key: each.value for each in _lines_of(env_file) if each.key}
    except (OSError, UnicodeDecodeError):
        # `load_settings` says so.
        return {}


def _lines_of(env_file: str | None) -> list[Binding]:
    file = Path(env_file or "")
    return [*parse_stream(StringIO(file.read_text(encoding="utf-8") if file.is_file() else ""))]


def _unknown(name: str, known: Collection[str]) -> str:
    if name.endswith("_FILE") and name.removesuffix("_FILE") in known:
        return f"{name} is read from the environment only, so it does nothing in .env"
    # The common prefix would make every name look similar.
    short = {each.removeprefix(_PREFIX): each for each in known}
    near = nearest(name.removeprefix(_PREFIX).removesuffix("_FILE"), short)
    cure = f"did you mean {short[near]}?" if near else "docs/reference/settings.md lists all settings"
    return f"{name} is not a setting of the bot, so it does nothing: {cure}"


def load_settings(env_file: str | None = ".env") -> Settings:
    """Read the settings.

    Raises:
        SettingsError: one line for each thing to set or fix.
    """
    return _load(Settings, env_file)


def load_access() -> Access:
    """Read how Slack and Redis are reached, of which all may be missing.

    Raises:
        SettingsError: when a file of settings cannot be read.
    """
    return _load(Access, ".env")


def _load(kind: type[_Kind], env_file: str | None) -> _Kind:
    try:
        if unread := [str(each.original.line) for each in _lines_of(env_file) if each.error]:
            # A line may have a secret, so no error repeats it.
            cure = "write NAME=value, a value with blanks or quotes in quotes, and # before a comment"
            raise SettingsError(f"{env_file} cannot be read at line {', '.join(unread)}: {cure}")
        return kind(_env_file=env_file)
    except OSError as error:
        raise SettingsError(f"{error.filename}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{env_file} is not UTF-8 text: {error.reason}") from error
    except ValidationError as error:
        raise SettingsError("\n".join(_sentence(problem) for problem in error.errors())) from error


def _sentence(problem: Any) -> str:
    # A setting without a field of its own name is there by its variable, and several together have no place.
    name = str(*problem["loc"][:1])
    name = variable_of(name) if name.islower() else name
    if problem["type"] in {"missing", "too_short", "string_too_short"}:
        return f"{name} is not set: {CURES.get(name, 'see .env.example')}"
    said = _of_another_type(problem) or problem["msg"].removeprefix("Value error, ")
    return f"{name}: {said}".removeprefix(": ")


def _of_another_type(problem: Any) -> str:
    """Say what to write where a value has another type, or is beyond a limit. Empty for other problems."""
    name, given = str(*problem["loc"][:1]).lower().removeprefix("assent_"), repr(problem["input"])
    default = Settings.model_fields[name].default if name in Settings.model_fields else None
    example = "1" if default is None else f"{default:g}" if isinstance(default, float) else str(default)
    match problem["type"]:
        case "bool_parsing":
            return f"{given} is neither true nor false: write one of them"
        case "int_parsing":
            what = "a port" if name == "http_port" else "one"
            return f"{given} is not a whole number: write {what}, as in {example}"
        case "float_parsing":
            return f"{given} is not a number: write one, as in {example}"
    if wanted := problem["msg"].partition("Input should be ")[2]:
        return f"{given} should be {wanted}, as in {example}"
    return ""


MAKES = {
    "ASSENT_SIGNING_KEY": "python -m bot keys signing create",
    "ASSENT_SEAL_KEY": "python -m bot keys signing seal",
}
"""The command that makes a key."""
CURES = {
    "SLACK_SIGNING_SECRET": "copy the signing secret from your Slack app, under Basic Information, into .env",
    "SLACK_BOT_TOKEN": "copy the bot token (xoxb-…) from your Slack app, under OAuth & Permissions, into .env",
    "SLACK_APP_TOKEN": "make an app-level token (xapp-…) with connections:write, under Basic Information, and copy it into .env; "
    "or set SLACK_SIGNING_SECRET for HTTP mode",
    "ASSENT_APPROVERS": "name who may decide in .env: user ids (U…), user group ids (S…), or the word channel; or give rules in ASSENT_POLICY",
}
