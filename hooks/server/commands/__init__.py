"""The program `dynamo-hooks`, and those of its commands that pods run: one file for each."""
