"""A `gh` for tests of the action: the comments of one pull request of GitHub, kept in the file $FAKE_COMMENTS.

It knows the calls of `.github/action/run.sh` and refuses others. The token is the name of its account. As at GitHub, a
token may change everybody's comments, and GraphQL's name of an app lacks the `[bot]` that the app's own name has.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

UNABLE = "unable"
"""The token of an account that may not read the comments."""

PAGE = 2
"""Comments on a page; GitHub has 100."""


def main() -> None:
    """Do what `gh api` with these arguments does."""
    parser = argparse.ArgumentParser()
    parser.add_argument("program", choices=["api"])
    parser.add_argument("endpoint", choices=["graphql", "repos/owner/project/issues/7/comments"])
    parser.add_argument("--method")
    parser.add_argument("--jq")
    parser.add_argument("--field", action="append", default=[])
    parser.add_argument("--raw-field", action="append", default=[])
    parser.add_argument("--paginate", action="store_true")
    parser.add_argument("--silent", action="store_true")
    options = parser.parse_args()
    fields = dict(field.split("=", 1) for field in options.raw_field)
    fields |= {key: _read_field(text) for key, text in (field.split("=", 1) for field in options.field)}
    kept = Path(os.environ["FAKE_COMMENTS"])
    comments: list[dict[str, Any]] = json.loads(kept.read_text())
    if options.method == "POST":
        comments.append({"id": "IC_new", "author": os.environ["GH_TOKEN"], "body": fields["body"]})
    elif "updateIssueComment" in fields["query"]:
        [changed] = (comment for comment in comments if comment["id"] == fields["id"])
        changed["body"] = fields["body"]
    elif os.environ["GH_TOKEN"] == UNABLE:
        sys.exit("gh: Resource not accessible by integration")
    else:
        assert (fields["owner"], fields["name"], fields["number"]) == ("owner", "project", 7)
        assert all(
            word in fields["query"] for word in ("$endCursor", "hasNextPage", "viewerDidAuthor", " id ", " body ")
        )
        _print_pages(comments, options.jq, whole=options.paginate)
        return
    kept.write_text(json.dumps(comments))


def _read_field(text: str) -> str | int:
    if text.startswith("@"):
        return Path(text[1:]).read_text()
    return int(text) if text.isdecimal() else text


def _print_pages(comments: list[dict[str, Any]], query: str, *, whole: bool) -> None:
    for first in range(0, len(comments) if whole else 1, PAGE):
        nodes = [_as_node(comment) for comment in comments[first : first + PAGE]]
        page = {"data": {"repository": {"pullRequest": {"comments": {"nodes": nodes}}}}}
        subprocess.run(["jq", "--raw-output", query], input=json.dumps(page), text=True, check=True)


def _as_node(comment: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": comment["id"],
        "body": comment["body"],
        "viewerDidAuthor": comment["author"] == os.environ["GH_TOKEN"],
        "author": {"login": comment["author"].removesuffix("[bot]")},
    }


if __name__ == "__main__":
    main()
