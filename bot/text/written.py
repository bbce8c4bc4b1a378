"""What a person wrote in Slack, as they read it: without Slack's marks for links, people and channels."""

import re

_MARK = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")
_SCHEME = re.compile(r"^(?:https?://|mailto:|tel:)")


def written(text: str, app_user: str) -> str:
    """Write the text of a message as plain words, without the mentions of the app itself."""

    def words(found: re.Match[str]) -> str:
        target, label = found[1], found[2] or ""
        return "" if target == f"@{app_user}" else _words(target, label)

    plain = _MARK.sub(words, text)
    for entity, char in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        plain = plain.replace(entity, char)
    return plain.strip()


def _words(target: str, label: str) -> str:
    match target[0]:
        case "@" | "#":
            return f"{target[0]}{label or target[1:]}"
        case "!":
            # As in <!subteam^S1|@ops>, <!date^1^{date}|Monday> and <!here>.
            return label or f"@{target[1:].rpartition('^')[2]}"
    return target if label in {"", target, _SCHEME.sub("", target)} else f"{label} ({target})"
