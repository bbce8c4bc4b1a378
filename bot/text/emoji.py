"""Emoji of several code points, which are drawn as they are: the sequences that Unicode lists, and no others.

What joins them cannot be seen. Anywhere else the same joiners, selectors and tags are spelled out: data can hide in them.
The sequences are those of emoji-zwj-sequences.txt and emoji-sequences.txt (Unicode 17), as rules.
"""

import re

_JOINER, _AS_EMOJI, _AS_TEXT = "\u200d", "\ufe0f", "\ufe0e"
_TONE = "[\U0001f3fb-\U0001f3ff]?"
_ADULT, _CHILD = "[👨👩🧑]", "[👦👧🧒]"
_GOES_ON = f"{_JOINER}➡{_AS_EMOJI}"

_JOINED = (
    # People at work, with another hair, in a wheelchair or with a cane.
    f"{_ADULT}{_TONE}{_JOINER}(?:[🌾🍳🍼🎄🎓🎤🎨🏫🏭💻💼🔧🔬🚀🚒🦰-🦳🩰]|[⚕⚖✈]{_AS_EMOJI}|[🦯🦼🦽](?:{_GOES_ON})?)",
    # Two people.
    f"{_ADULT}{_TONE}{_JOINER}(?:❤{_AS_EMOJI}(?:{_JOINER}💋)?|[🤝🐰🫯]){_JOINER}{_ADULT}{_TONE}",
    f"{_ADULT}(?:{_JOINER}{_ADULT})?(?:{_JOINER}{_CHILD}){{1,2}}",
    f"🫱{_TONE}{_JOINER}🫲{_TONE}",
    # A person or a fantasy being as a woman or a man, and who goes to the right.
    f"[🏃🚶🧎]{_TONE}(?:{_JOINER}[♀♂]{_AS_EMOJI})?{_GOES_ON}",
    f"[🏃🏄🏊👮👯👰👱👳👷💁💂💆💇🙅-🙇🙋🙍🙎🚣🚴-🚶🤦🤵🤷-🤹🤼-🤾🦸🦹🧍-🧏🧔🧖-🧟]{_TONE}{_JOINER}[♀♂]{_AS_EMOJI}",
    f"[⛹🏋🏌🕵](?:[\U0001f3fb-\U0001f3ff]|{_AS_EMOJI}){_JOINER}[♀♂]{_AS_EMOJI}",
    *(f"❤{_AS_EMOJI}{_JOINER}[🔥🩹]", f"👁{_AS_EMOJI}{_JOINER}🗨{_AS_EMOJI}", f"⛓{_AS_EMOJI}{_JOINER}💥"),
    *(f"🏳{_AS_EMOJI}{_JOINER}(?:🌈|⚧{_AS_EMOJI})", f"🏴{_JOINER}☠{_AS_EMOJI}"),
    *(f"🐻{_JOINER}❄{_AS_EMOJI}", f"🐕{_JOINER}🦺", f"🐈{_JOINER}⬛", f"🐦{_JOINER}[⬛🔥]"),
    *(f"🍋{_JOINER}🟩", f"🍄{_JOINER}🟫", f"🙂{_JOINER}[↔↕]{_AS_EMOJI}"),
    *(f"😮{_JOINER}💨", f"😵{_JOINER}💫", f"😶{_JOINER}🌫{_AS_EMOJI}"),
)
_FLAGS = "🏴(?:{})\U000e007f".format(
    "|".join(
        "".join(chr(0xE0000 + ord(letter)) for letter in region) for region in ("gbeng", "gbsct", "gbwls")
    )
)
KEYCAP = f"[0-9#*]{_AS_EMOJI}\u20e3"
# Symbols that are drawn as text or as a picture, as the selector after them says.
_TWO_STYLES = (
    "[©®‼⁉™\u2139↔-↙↩↪⌚⌛⌨⏏⏩-⏳⏸-⏺Ⓜ▪▫▶◀◻-◾☀-☄☎☑☔☕☘☝☠☢☣☦☪☮☯☸-☺♀♂♈-♓♟♠♣♥♦♨♻♾♿⚒-⚗⚙⚛⚜⚠⚡⚧⚪⚫⚰⚱⚽⚾⛄⛅⛈⛏⛑⛓⛔⛩⛪⛰-⛵⛷-⛺⛽✂✈✉✌✍"
    "✏✒✔✖✝✡✳✴❄❇❓❗❣❤➡⤴⤵⬅-⬇⬛⬜⭐⭕〰〽㊗㊙🀄🅰🅱🅾🅿🈂🈚🈯🈷🌡🌤-🌬🌶🍽🎖🎗🎙-🎛🎞🎟🏋-🏎🏔-🏟🏳🏵🏷🐿👁📽🕉🕊🕯🕰🕳-🕹🖇🖊-🖍🖐🖥🖨🖱🖲🖼🗂-🗄🗑-🗓"
    "🗜-🗞🗡🗣🗨🗯🗳🗺🛋🛍-🛏🛠-🛥🛩🛰🛳]"
)

SEQUENCE = re.compile("|".join([*_JOINED, _FLAGS, KEYCAP, f"{_TWO_STYLES}[{_AS_EMOJI}{_AS_TEXT}]"]))
"""One emoji whose joiners and selectors need not be seen."""
