"""The command `dynamo-hooks`: one small file per command, none of which needs a cluster."""
