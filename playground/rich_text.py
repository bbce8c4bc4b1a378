"""Slack's `rich_text`: sections, lists, quotes and preformatted text made of leaves."""

from playground.shapes import (
    Rule,
    boolean,
    choice,
    integer,
    items,
    matching,
    shape,
    string,
    type_field,
    typed,
)

LONGEST = 12_000
"""No length is stated for one leaf; the message's total bounds it."""


_STYLE = shape(optional=dict.fromkeys(("bold", "italic", "strike", "code", "underline"), boolean))
_LINK_STYLE = {"style": _STYLE, "unsafe": boolean}
_TEXT = shape({"type": type_field, "text": string(LONGEST, counted=True)}, {"style": _STYLE})
_LINK = shape(
    {"type": type_field, "url": string(3000)}, {"text": string(LONGEST, counted=True), **_LINK_STYLE}
)
_LEAF = typed(
    {
        "text": _TEXT,
        "link": _LINK,
        "emoji": shape({"type": type_field, "name": string(100)}, {"unicode": string(100), "style": _STYLE}),
        "user": shape({"type": type_field, "user_id": string(255)}, {"style": _STYLE}),
        "usergroup": shape({"type": type_field, "usergroup_id": string(255)}, {"style": _STYLE}),
        "channel": shape({"type": type_field, "channel_id": string(255)}, {"style": _STYLE}),
        "broadcast": shape(
            {"type": type_field, "range": choice("here", "channel", "everyone")}, {"style": _STYLE}
        ),
        "date": shape(
            {"type": type_field, "timestamp": integer(0, 9_999_999_999), "format": string(255)},
            {"url": string(3000), "fallback": string(255), "style": _STYLE},
        ),
        "color": shape({"type": type_field, "value": matching(r"#[0-9A-Fa-f]{6}", "must provide a colour")}),
    }
)
_LEAVES = items(_LEAF, 1, 1000)
_SECTION = shape({"type": type_field, "elements": _LEAVES})

RICH_TEXT_ELEMENTS: Rule = typed(
    {
        "rich_text_section": _SECTION,
        "rich_text_quote": shape({"type": type_field, "elements": _LEAVES}, {"border": integer(0, 1)}),
        "rich_text_preformatted": shape(
            {"type": type_field, "elements": items(typed({"text": _TEXT, "link": _LINK}), 1, 1000)},
            {"border": integer(0, 1)},
        ),
        "rich_text_list": shape(
            {
                "type": type_field,
                "style": choice("bullet", "ordered"),
                "elements": items(typed({"rich_text_section": _SECTION}), 1, 1000),
            },
            {"indent": integer(0, 8), "offset": integer(0, 10_000), "border": integer(0, 1)},
        ),
    }
)
RICH_TEXT = shape(
    {"type": type_field, "elements": items(RICH_TEXT_ELEMENTS, 1, 100)}, {"block_id": string(255)}
)
