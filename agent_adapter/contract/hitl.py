"""Requests and decisions, with the fields and names of LangChain."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, model_validator

from agent_adapter.contract.names import did_you_mean
from agent_adapter.errors import WrongArgumentError


class WireModel(BaseModel):
    """A frozen message. Reading ignores unknown fields, which a newer version may have written."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


class WrittenModel(WireModel):
    """A message that users of the library write: calling the class refuses unknown fields, `model_validate` ignores them."""

    def __init__(self, /, *unnamed: Any, **given: Any) -> None:
        """Write a message.

        Raises:
            WrongArgumentError: naming the place, and for an unknown field the most similar one.
        """
        where = type(self).__name__
        if unnamed:
            raise WrongArgumentError(
                f"{where}: pass everything by its name: {', '.join(type(self).model_fields)}"
            )
        check_written(type(self), given, where=where)
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise WrongArgumentError(first_problem(error, where=where)) from None

    # pydantic puts this mark on its own `__init__`. Without it, `model_validate` would call this one.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # pydantic reads it


def first_problem(error: ValidationError, *, where: str) -> str:
    """Return the first problem as a sentence, with its path."""
    first = error.errors(include_url=False, include_input=False)[0]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    return f"{where}{path}: {first['msg'].removeprefix('Value error, ')}"


def check_written(
    kind: type[BaseModel], given: Mapping[str, Any], *, where: str, newer: bool = False
) -> None:
    """Refuse fields that do not exist, and decisions that are none, at any depth.

    A `newer` framework may have fields that are not known here: of these, only those are refused that look like a known one.
    """
    known = {field.alias or name: field for name, field in kind.model_fields.items()}
    for name, value in given.items():
        meant = "" if name in known else did_you_mean(name, known)
        if name not in known and (meant or not newer):
            raise WrongArgumentError(
                f"{where}: there is no {name!r}{meant}; the fields are {', '.join(known)}"
            )
        place = f"{where}.{name}"
        is_tuple = name in known and get_origin(known[name].annotation) is tuple
        if is_tuple and isinstance(value, str | BaseModel):
            raise WrongArgumentError(f"{place}: this is one {type(value).__name__}: pass a tuple, as in (…,)")
        if name not in known or not isinstance(value, list | tuple):
            continue
        inner, *_ = get_args(known[name].annotation) or (None,)
        for index, part in enumerate(value):
            if name in _DECISIONS and part not in KNOWN_DECISIONS:
                raise WrongArgumentError(
                    f"{place}: {part!r} is not a decision{did_you_mean(part, KNOWN_DECISIONS)}; "
                    f"choose from {', '.join(KNOWN_DECISIONS)}"
                )
            if isinstance(part, dict) and isinstance(inner, type) and issubclass(inner, BaseModel):
                check_written(inner, part, where=f"{place}[{index}]", newer=newer)


_DECISIONS = ("allowed_decisions", "allowedDecisions")


class ActionRequest(WrittenModel):
    """One tool call that waits for a person."""

    name: str
    """The name of the tool."""
    args: dict[str, Any]
    """The arguments of the call, a JSON object."""
    description: str | None = None
    """What the agent says about the call. Untrusted text."""
    id: str | None = None
    """The framework's id of the call, if there is one."""


class ReviewConfig(WrittenModel):
    """Which decisions the reviewer can choose from for an action."""

    action_name: str
    allowed_decisions: tuple[str, ...] = Field(min_length=1)
    """Plain strings: a kind of decision that this version does not know is kept and not offered."""
    args_schema: dict[str, Any] | None = None
    """JSON Schema of the arguments, if the framework knows it."""
    allow_always: bool = False
    """Whether an approval or a rejection may apply to every later call of this tool in this run."""
    effects: tuple[str, ...] = ()
    """What a decision really does in a framework that lacks this kind of decision, by the names in `EFFECTS`."""
    headline: tuple[str, ...] = ()
    """Names of up to 10 arguments that are the subject of the call. They come first on its card, and stand in the notification.
    What the bot's policy names goes before that."""
    integers: tuple[int, int] | None = None
    """The smallest and the largest whole number that the framework can keep, if not all. An edit must not have others.
    Infinity, NaN and half of a surrogate pair are in no arguments, so no framework has to say that it cannot keep these."""


EFFECTS = ("reject_as_answer", "answer_as_rejection", "words_only", "reject_drops_batch")
"""What a card explains next to its buttons, in this order: a rejection reaches the model as the tool's answer; an answer reaches
it as a rejection; every decision is plain words for a program with its own kind of question; one rejection stops the whole
batch. A name that the bot does not know is kept and not shown."""


class HITLRequest(WrittenModel):
    """A batch of actions, each with its review config at the same index."""

    action_requests: tuple[ActionRequest, ...] = Field(min_length=1)
    review_configs: tuple[ReviewConfig, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _paired(self) -> "HITLRequest":
        asked, configured = len(self.action_requests), len(self.review_configs)
        if asked != configured:
            raise ValueError(f"{asked} action_requests but {configured} review_configs: they pair by index")
        for index, (action, config) in enumerate(zip(self.action_requests, self.review_configs, strict=True)):
            if action.name != config.action_name:
                raise ValueError(
                    f"review_configs[{index}].action_name is {config.action_name!r}, "
                    f"but action_requests[{index}].name is {action.name!r}"
                )
        return self


class EditedAction(WrittenModel):
    """The call that runs instead of the requested one."""

    name: str
    args: dict[str, Any]
    """All arguments, not only the changed ones."""


class _WithoutEdit:
    @property
    def edited_action(self) -> None:
        """`None`: only an edit has one."""


class _WithoutWords:
    @property
    def message(self) -> None:
        """`None`: only a rejection and a response have one."""


class ApproveDecision(_WithoutEdit, _WithoutWords, WrittenModel):
    """Run the call as it was shown."""

    type: Literal["approve"] = "approve"
    always: bool = False
    """Whether it also applies to every later call of this tool in this run; only with `allow_always`."""


class EditDecision(_WithoutWords, WrittenModel):
    """Run the call with these arguments."""

    type: Literal["edit"] = "edit"
    edited_action: EditedAction


class RejectDecision(_WithoutEdit, WrittenModel):
    """Do not run the call."""

    type: Literal["reject"] = "reject"
    message: str | None = None
    """The reason that the reviewer wrote."""
    always: bool = False
    """Whether it also applies to every later call of this tool in this run; only with `allow_always`."""


class RespondDecision(_WithoutEdit, WrittenModel):
    """Do not run the call; the reviewer's text is the tool's answer."""

    type: Literal["respond"] = "respond"
    message: str


class UnknownDecision(WireModel):
    """A kind of decision that this version does not know. Nothing runs because of it."""

    model_config = ConfigDict(extra="allow")

    type: str


KnownDecision: TypeAlias = ApproveDecision | EditDecision | RejectDecision | RespondDecision
"""One person's answer to one action, of a kind that this version can carry out."""
KNOWN_DECISIONS = ("approve", "edit", "reject", "respond")


def _kind(value: Any) -> str:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return kind if kind in KNOWN_DECISIONS else "other"


Decision = Annotated[
    Annotated[ApproveDecision, Tag("approve")]
    | Annotated[EditDecision, Tag("edit")]
    | Annotated[RejectDecision, Tag("reject")]
    | Annotated[RespondDecision, Tag("respond")]
    | Annotated[UnknownDecision, Tag("other")],
    Discriminator(_kind),
]
"""One person's answer to one action; `type` says which kind it is."""
