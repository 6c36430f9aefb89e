"""Connections to the secure port that come to nothing: they are closed, and gunicorn can go on counting."""

import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gunicorn.config import Config

from hooks.serving import secure_connection
from hooks.serving.secure_connection import SecureConnection
from hooks.serving.tls import ServedCertificate
from tests.serving.test_tls import issue_now, write


def refuse(client: socket.socket, _trusted: str) -> None:
    client.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")


def leave(client: socket.socket, _trusted: str) -> None:
    client.close()


def distrust(client: socket.socket, _trusted: str) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        ssl.create_default_context(cadata=issue_now().authorities).wrap_socket(client, server_hostname="localhost")


def say_nothing(client: socket.socket, trusted: str) -> None:
    secure = ssl.create_default_context(cadata=trusted).wrap_socket(client, server_hostname="localhost")
    assert secure.recv(1) == b""
    secure.close()


@pytest.mark.parametrize("act", [refuse, leave, distrust, say_nothing])
def test_connection_without_agreement_or_request_is_closed_once_and_for_all(
    act: Callable[[socket.socket, str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secure_connection, "HANDSHAKE_SECONDS", 0.5)
    issued = issue_now()
    served = ServedCertificate(*write(issued, tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname(), timeout=20)
        connection = SecureConnection(Config(), listener.accept(), listener.getsockname(), served)
        thread = threading.Thread(target=act, args=(client, issued.authorities))
        thread.start()
        with pytest.raises(StopIteration):
            connection.init()
        connection.close(graceful=True)  # what gunicorn does next; an error here makes it count the connection twice
        thread.join(timeout=20)
        client.close()


def test_request_on_an_agreed_connection_is_read(tmp_path: Path) -> None:
    issued = issue_now()
    served = ServedCertificate(*write(issued, tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        plain = socket.create_connection(listener.getsockname(), timeout=20)
        connection = SecureConnection(Config(), listener.accept(), listener.getsockname(), served)

        def ask() -> None:
            with ssl.create_default_context(cadata=issued.authorities).wrap_socket(
                plain, server_hostname="localhost"
            ) as secure:
                secure.sendall(b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
                secure.recv(1)

        thread = threading.Thread(target=ask)
        thread.start()
        connection.init()
        assert next(connection.parser).path == "/healthz"
        connection.close()
        thread.join(timeout=20)
