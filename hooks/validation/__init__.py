"""What is allowed of our kinds and what is filled in, as values; each kind's own rules stand with its hook.

`review` is the question, `rule_table` names every rule, `judging` puts rules to a review, and `defaulting` says what
is filled in.
"""
