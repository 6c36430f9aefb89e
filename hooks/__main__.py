"""`python -m hooks`, the same as the command `dynamo-hooks`."""

from hooks.server.commands.main import main

if __name__ == "__main__":
    main()
