"""What is allowed of our kinds and what is filled in, as values; each kind's own checks stand with its hook.

`rules` are all rules and their words, `review` is the question, `judging` puts a kind's checks to a review, and
`defaulting` says what is filled in.
"""
