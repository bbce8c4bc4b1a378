"""What is asked and what is answered, in LangChain's words, field for field."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)

from agent_adapter.contract.names import did_you_mean
from agent_adapter.errors import WrongArgumentError


class WireModel(BaseModel):
    """A frozen message that reads tolerantly: fields of a newer writer are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)


class WrittenModel(WireModel):
    """A message that users of the library write: `model_validate` reads tolerantly, and calling the class does not."""

    def __init__(self, /, *unnamed: Any, **given: Any) -> None:
        """Write a message.

        Raises:
            WrongArgumentError: naming the place, and the nearest name that there is.
        """
        _check_written(type(self), unnamed, given)
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise WrongArgumentError(first_problem(error, where=type(self).__name__)) from None

    # Without this mark of pydantic's own `__init__`, `model_validate` would call this one.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


def first_problem(error: ValidationError, *, where: str) -> str:
    """Say the first thing that is wrong, with its path."""
    first = error.errors(include_url=False, include_input=False)[0]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    return f"{where}{path}: {first['msg'].removeprefix('Value error, ')}"


def _check_written(kind: type[BaseModel], unnamed: tuple[Any, ...], given: dict[str, Any]) -> None:
    known = kind.model_fields
    if unnamed:
        raise WrongArgumentError(f"{kind.__name__}: pass everything by its name: {', '.join(known)}")
    for name, value in given.items():
        if name not in known:
            meant = did_you_mean(name, known)
            raise WrongArgumentError(
                f"{kind.__name__}: there is no {name!r}{meant}; there are {', '.join(known)}"
            )
        for part in value if isinstance(value, list | tuple) else ():
            if name == "allowed_decisions" and part not in KNOWN_DECISIONS:
                raise WrongArgumentError(
                    f"{kind.__name__}.{name}: {part!r} is not a decision{did_you_mean(part, KNOWN_DECISIONS)}; "
                    f"there are {', '.join(KNOWN_DECISIONS)}"
                )
            if name in _PARTS and isinstance(part, dict):
                _check_written(_PARTS[name], (), part)


class ActionRequest(WrittenModel):
    """One tool call that waits for a person."""

    name: str
    """The tool."""
    args: dict[str, Any]
    """Its arguments, a JSON object."""
    description: str | None = None
    """What the agent says about it. Untrusted text."""
    id: str | None = None
    """The framework's id of the call, where it has one."""


class ReviewConfig(WrittenModel):
    """Which decisions the reviewer is offered for an action."""

    action_name: str
    allowed_decisions: tuple[str, ...] = Field(min_length=1)
    """Plain strings: a kind that this version has not met is carried and not offered."""
    args_schema: dict[str, Any] | None = None
    """JSON Schema of the arguments, where the framework knows it."""
    allow_always: bool = False
    """Whether an approval or a rejection may hold for every later call of this tool in this run."""
    effects: tuple[str, ...] = ()
    """What decisions really do where the framework does not know them, by the names in `EFFECTS`."""


EFFECTS = ("reject_as_answer", "answer_as_rejection", "words_only", "reject_drops_batch")
"""What a card says beside its buttons: a rejection reaches the model as the tool's answer; an answer reaches it as a
rejection; every decision is plain words to a program that asked in its own way; one rejection stops the whole batch. A name that
the bot has not met is carried and not shown."""


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


_PARTS: dict[str, type[BaseModel]] = {"action_requests": ActionRequest, "review_configs": ReviewConfig}


class EditedAction(WrittenModel):
    """The call that runs in place of the one that was asked for."""

    name: str
    args: dict[str, Any]
    """The whole arguments, not a patch."""


class _WithoutEdit:
    @property
    def edited_action(self) -> None:
        """Only an edit has one."""


class _WithoutWords:
    @property
    def message(self) -> None:
        """Only a rejection and an answer have words."""


class ApproveDecision(_WithoutEdit, _WithoutWords, WrittenModel):
    """Run the call as it was shown."""

    type: Literal["approve"] = "approve"
    always: bool = False
    """Also every later call of this tool in this run, where `allow_always` is set."""


class EditDecision(_WithoutWords, WrittenModel):
    """Run the call with these arguments."""

    type: Literal["edit"] = "edit"
    edited_action: EditedAction


class RejectDecision(_WithoutEdit, WrittenModel):
    """Do not run the call."""

    type: Literal["reject"] = "reject"
    message: str | None = None
    """Why, in the reviewer's words."""
    always: bool = False
    """Also every later call of this tool in this run, where `allow_always` is set."""


class RespondDecision(_WithoutEdit, WrittenModel):
    """Do not run the call; the reviewer answers in the tool's place."""

    type: Literal["respond"] = "respond"
    message: str


class UnknownDecision(WireModel):
    """A decision of a kind that this version has not met. Nothing is run on it."""

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
"""One person's answer to one action, told apart by `type`."""
