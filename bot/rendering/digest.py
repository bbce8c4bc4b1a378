"""The weekly digest as a message. Pure."""

from bot.domain.digest import Digest, Proposal
from bot.rendering.blocks import Block, context, divider, header, literal, section
from bot.rendering.calls import is_plain_name
from bot.sentences import in_digest, words
from bot.text.literal import one_line

_MOST_PROPOSALS, _MOST_TOOLS = 5, 5
_ORDER = ("approve", "edit", "reject", "respond")


def digest_text(digest: Digest) -> str:
    """Say in a notification what the digest is about."""
    title = in_digest.title(digest.since, digest.until)
    return f"{title}: {in_digest.in_short(digest.requests, digest.decided)}."


def digest_blocks(digest: Digest) -> list[Block]:
    """Draw how many calls were decided and how fast, what expired, and which rules the history suggests."""
    return [
        header("top", in_digest.title(digest.since, digest.until)),
        section("numbers", "\n".join(_numbers(digest))),
        *_proposal_blocks(digest.proposals()),
    ]


def _numbers(digest: Digest) -> list[str]:
    lines = [in_digest.asked(digest.requests, digest.decided)]
    if digest.decided:
        kinds = [(kind, digest.kinds[kind]) for kind in _ORDER if digest.kinds[kind] or kind != "respond"]
        lines.append(in_digest.shares(kinds, digest.decided))
    half, most = digest.within(0.5), digest.within(0.9)
    if half and most:
        lines.append(in_digest.how_fast(half, most))
    if digest.standing or digest.silent:
        lines.append(in_digest.without_people(digest.standing, digest.silent))
    if digest.expired:
        tools = [(_tool(name), count) for name, count in digest.late.most_common(_MOST_TOOLS)]
        lines.append(in_digest.expired(digest.expired, tools))
    return lines


def _proposal_blocks(proposals: list[Proposal]) -> list[Block]:
    if not proposals:
        return []
    blocks = [divider("rules"), section("rules:title", in_digest.RULES_TITLE)]
    for number, proposal in enumerate(proposals[:_MOST_PROPOSALS]):
        tools = words.and_more([_tool(name) for name in proposal.tools], _MOST_TOOLS)
        blocks += [
            section(f"rule:{number}", in_digest.proposal(tools, proposal.approved, proposal.repeated)),
            literal(f"rule:{number}:line", _to_paste(proposal)),
        ]
    ends = [in_digest.AND_MORE] if len(proposals) > _MOST_PROPOSALS else []
    return [
        *blocks,
        *(context("rules:more", end) for end in ends),
        context("rules:end", in_digest.NOTHING_APPLIED),
    ]


def _to_paste(proposal: Proposal) -> str:
    terms = proposal.standing
    line = in_digest.standing(terms.same, terms.scope, terms.lasts, terms.uses)
    return f"{one_line(in_digest.in_rule(proposal.rule.name, proposal.rule.line))}\n{line}"


def _tool(name: str) -> str:
    return in_digest.tool(name) if is_plain_name(name) else words.UNUSUAL_TOOL
