"""What is asked and what is answered, in LangChain's words, field for field."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator


class WireModel(BaseModel):
    """A frozen message that reads tolerantly: fields of a newer writer are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)


class ActionRequest(WireModel):
    """One tool call that waits for a person."""

    name: str
    """The tool."""
    args: dict[str, Any]
    """Its arguments, a JSON object."""
    description: str | None = None
    """What the agent says about it. Untrusted text."""
    id: str | None = None
    """The framework's id of the call, where it has one."""


class ReviewConfig(WireModel):
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


class HITLRequest(WireModel):
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


class EditedAction(WireModel):
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


class ApproveDecision(_WithoutEdit, _WithoutWords, WireModel):
    """Run the call as it was shown."""

    type: Literal["approve"] = "approve"
    always: bool = False
    """Also every later call of this tool in this run, where `allow_always` is set."""


class EditDecision(_WithoutWords, WireModel):
    """Run the call with these arguments."""

    type: Literal["edit"] = "edit"
    edited_action: EditedAction


class RejectDecision(_WithoutEdit, WireModel):
    """Do not run the call."""

    type: Literal["reject"] = "reject"
    message: str | None = None
    """Why, in the reviewer's words."""
    always: bool = False
    """Also every later call of this tool in this run, where `allow_always` is set."""


class RespondDecision(_WithoutEdit, WireModel):
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
