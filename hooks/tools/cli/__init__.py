"""The command `dynamo-hooks`: one small file for each subcommand."""
