"""One call of gRPC's health service over HTTP/2 without TLS, as a gRPC probe makes it, with nothing to install.

Source: RFC 9113 (HTTP/2), RFC 7541 (HPACK, here only literal fields), gRPC health checking protocol.
"""

import socket
import struct
from collections.abc import Iterator

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING, GOAWAY = 0x0, 0x1, 0x4, 0x6, 0x7
ACK, END_STREAM, END_HEADERS = 0x1, 0x1, 0x4
SERVING = 1
STREAM = 1


class NotServing(Exception):
    """The health service answered, but not that it serves."""


def check_health(address: str, port: int, service: str, seconds: float) -> None:
    """Return if the service says SERVING.

    Raises:
        NotServing: it says something else, or nothing.
        OSError: there was no connection, or no answer in time.
    """
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": "/grpc.health.v1.Health/Check",
        ":authority": f"{address}:{port}",
        "content-type": "application/grpc",
        "te": "trailers",
    }
    name = service.encode()
    message = bytes([0x0A, len(name)]) + name if name else b""
    with socket.create_connection((address, port), seconds) as connection:
        connection.settimeout(seconds)
        connection.sendall(
            PREFACE
            + build_frame(SETTINGS, 0, 0, b"")
            + build_frame(HEADERS, END_HEADERS, STREAM, b"".join(_literal(*field) for field in fields.items()))
            + build_frame(DATA, END_STREAM, STREAM, b"\0" + struct.pack(">I", len(message)) + message)
        )
        body = b""
        for kind, flags, stream, payload in _frames(connection):
            if kind == SETTINGS and not flags & ACK:
                connection.sendall(build_frame(SETTINGS, ACK, 0, b""))
            elif kind == PING and not flags & ACK:
                connection.sendall(build_frame(PING, ACK, 0, payload))
            elif kind == DATA and stream == STREAM:
                body += payload
            if kind == GOAWAY or (stream == STREAM and kind in {DATA, HEADERS} and flags & END_STREAM):
                break
            if len(body) >= 5 and len(body) >= 5 + int.from_bytes(body[1:5], "big"):
                break
    status = read_status(body[5:])
    if status != SERVING:
        raise NotServing(f"the health service answered with status {status}, not {SERVING} (SERVING)")


def read_status(message: bytes) -> int | None:
    """Field 1 of a HealthCheckResponse; 0 (UNKNOWN) where it is left out, None where there is no message."""
    if not message:
        return None
    return message[1] if len(message) >= 2 and message[0] == 0x08 else 0


def build_frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """A frame of HTTP/2."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def _literal(name: str, value: str) -> bytes:
    """A header field without indexing and Huffman codes; all of ours are shorter than 127 bytes."""
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def _frames(connection: socket.socket) -> Iterator[tuple[int, int, int, bytes]]:
    """Type, flags, stream and payload of each frame until the other side closes."""
    with connection.makefile("rb") as stream:
        while len(head := stream.read(9)) == 9:
            length = int.from_bytes(head[:3], "big")
            yield head[3], head[4], int.from_bytes(head[5:9], "big") & 0x7FFFFFFF, stream.read(length)
