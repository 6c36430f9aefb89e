"""A hub and an S3 server that have no adapter, each in its way, on loopback."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0" * 40
_EMPTY = (
    "<ListBucketResult><Name>bucket</Name><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>"
)


def _answer(served: str, path: str) -> tuple[int, str]:
    """Status and body; `served` is as the table of texts names it."""
    kind, what, *rest = served.split()
    is_listed = "/api/models/" in path
    if kind == "hub" and what == "README.md":
        return 200, f'{{"id": "org/a", "sha": "{COMMIT}", "siblings": [{{"rfilename": "README.md"}}]}}' * is_listed
    if kind == "hub" and what == "listed":
        listed = f'{{"id": "org/a", "sha": "{COMMIT}", "siblings": [{{"rfilename": "adapter_config.json"}}]}}'
        return (200, listed) if is_listed else (403, "")
    if kind == "s3" and what == "empty":
        return 200, f'<?xml version="1.0"?>{_EMPTY}'
    if kind == "s3":
        return int(what), f'<?xml version="1.0"?><Error><Code>{rest[0]}</Code></Error>'
    return int(what), '{"error": "no"}'


@contextmanager
def serve(served: str) -> Iterator[Mapping[str, str]]:
    """The environment of a downloader while the server runs: where hub and S3 are, and credentials."""

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, text = _answer(served, self.path)
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", '"0"')
            self.send_header("Content-Range", f"bytes 0-0/{len(body) or 1}")
            self.send_header("x-repo-commit", COMMIT)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Tests stay quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1] if served not in {"nothing", "s3 without credentials"} else 1
        endpoint = f"http://127.0.0.1:{port}"
        keys = {} if served == "s3 without credentials" else {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}
        http = {} if served == "s3 without HTTP" else {"AWS_ALLOW_HTTP": "true"}
        try:
            yield {
                "HF_ENDPOINT": endpoint,
                "AWS_ENDPOINT": endpoint,
                "AWS_REGION": "us-east-1",
                "AWS_EC2_METADATA_DISABLED": "true",
                **keys,
                **http,
            }
        finally:
            server.shutdown()
