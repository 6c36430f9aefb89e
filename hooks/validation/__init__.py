"""Which objects of our kinds are accepted, and what is filled in; each kind's checks are in its hook's package.

`rules` are all rules and their words, `review` is the question, and `judging` answers it with a kind's checks. With
`reading`, objects that do not fit their model are judged too. `overlap` finds problems that say the same, `values`
names JSON values, and `defaulting` says what is filled in.
"""
