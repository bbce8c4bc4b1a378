"""The wire between agents and the bot: models, keys, identity, limits. Pure."""
