"""What is allowed of our kinds and what is filled in, as values; each kind's own rules stand with its hook.

`review` is the question, `rule_table` names every rule, `judging` puts rules to a review, `defaulting` says what is
filled in, and `registry` knows which of all that holds for which resource.
"""
