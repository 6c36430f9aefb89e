"""Which objects of our kinds are accepted, and what is filled in; each kind's checks are in its hook's package.

`review` is a write to check, `judging` checks it by a kind's rules (`hooks.language.rules`). `reading` lets it check
objects that do not fit their model. `overlap` drops problems that the schema also finds, and `defaulting` decides
what is filled in.
"""
