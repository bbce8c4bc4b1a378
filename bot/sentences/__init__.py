"""Every sentence that people read in Slack, grouped by where they meet it. Pure.

For example, a person reads `in_answer.WHO_ARE_YOU` when Slack did not say who pressed a button. Each sentence is a
constant, or a function with typed parameters. Nothing is decided here. People, channels and code are passed in as Slack
writes them.

Each language is a package of the same modules, and `language.py` says which one is spoken. So take a sentence when it is
needed, as `in_answer.WHO_ARE_YOU`: one that is kept when a module is imported stays English for everybody. What agents
and operators read is English, in `in_refusal` and `to_agent`.
"""

from typing import TYPE_CHECKING

from bot.sentences.language import Spoken

if TYPE_CHECKING:
    from bot.sentences.en import in_anchor as in_anchor
    from bot.sentences.en import in_answer as in_answer
    from bot.sentences.en import in_digest as in_digest
    from bot.sentences.en import in_field as in_field
    from bot.sentences.en import in_form as in_form
    from bot.sentences.en import in_home as in_home
    from bot.sentences.en import in_list as in_list
    from bot.sentences.en import in_mention as in_mention
    from bot.sentences.en import in_text as in_text
    from bot.sentences.en import in_thread as in_thread
    from bot.sentences.en import in_why as in_why
    from bot.sentences.en import on_action as on_action
    from bot.sentences.en import on_button as on_button
    from bot.sentences.en import on_card as on_card
    from bot.sentences.en import on_outcome as on_outcome
    from bot.sentences.en import on_queue as on_queue
    from bot.sentences.en import words as words
else:
    in_anchor, in_answer, in_digest, in_field, in_form, in_home = map(
        Spoken, ("in_anchor", "in_answer", "in_digest", "in_field", "in_form", "in_home")
    )
    in_list, in_mention, in_text, in_thread, in_why = map(
        Spoken, ("in_list", "in_mention", "in_text", "in_thread", "in_why")
    )
    on_action, on_button, on_card, on_outcome, on_queue, words = map(
        Spoken, ("on_action", "on_button", "on_card", "on_outcome", "on_queue", "words")
    )
