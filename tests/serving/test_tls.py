"""The certificate that follows its files, and which application stands behind which port."""

import logging
import os
import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hooks.certificates.authority import Issued, issue
from hooks.serving.tls import AppByPort, ServedCertificate


def issue_now() -> Issued:
    return issue(["localhost"], datetime.now(UTC), timedelta(hours=1))


def write(issued: Issued, folder: Path) -> tuple[Path, Path]:
    """Two new files, swapped in by one rename each, so that their inodes differ from those before."""
    paths = (folder / "tls.crt", folder / "tls.key")
    for path, text in zip(paths, (issued.certificate, issued.key), strict=True):
        fresh = path.with_suffix(".new")
        fresh.write_text(text)
        fresh.replace(path)
    return paths


def is_trusted(served: ServedCertificate, issued: Issued) -> bool:
    """Whether a client that trusts this authority agrees with a server that shows the certificate."""
    client = ssl.create_default_context(cadata=issued.authorities)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname="localhost")
    theirs = served.context().wrap_bio(to_server, to_client, server_side=True)
    try:
        for _ in range(3):
            for end in (ours, theirs):
                try:
                    end.do_handshake()
                except ssl.SSLWantReadError:
                    continue
    except ssl.SSLCertVerificationError:
        return False
    return ours.version() in {"TLSv1.2", "TLSv1.3"}


def test_new_files_count_for_the_next_handshake(tmp_path: Path) -> None:
    first, second = issue_now(), issue_now()
    served = ServedCertificate(*write(first, tmp_path))
    assert (is_trusted(served, first), is_trusted(served, second)) == (True, False)
    write(second, tmp_path)
    assert (is_trusted(served, first), is_trusted(served, second)) == (False, True)


def test_link_that_is_swapped_counts_as_a_change(tmp_path: Path) -> None:
    issued = [issue_now(), issue_now()]
    for number, one in enumerate(issued):
        (tmp_path / f"data-{number}").mkdir()
        write(one, tmp_path / f"data-{number}")
    link = tmp_path / "data"
    link.symlink_to("data-0")
    served = ServedCertificate(link / "tls.crt", link / "tls.key")
    assert is_trusted(served, issued[0])
    (tmp_path / "fresh").symlink_to("data-1")
    (tmp_path / "fresh").replace(link)
    assert is_trusted(served, issued[1])


def test_unchanged_files_are_not_read_again(tmp_path: Path) -> None:
    served = ServedCertificate(*write(issue_now(), tmp_path))
    assert served.context() is served.context()


@pytest.mark.parametrize("fault", ["half written", "malformed", "gone"])
def test_files_that_make_no_pair_are_passed_over_until_they_do(
    fault: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = issue_now(), issue_now()
    certificate, key = write(first, tmp_path)
    served = ServedCertificate(certificate, key)
    if fault == "gone":
        key.unlink()
    else:
        certificate.write_text(second.certificate if fault == "half written" else "no PEM")
    assert is_trusted(served, first)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    write(second, tmp_path)
    assert is_trusted(served, second)


def test_missing_pair_is_refused_at_the_start(tmp_path: Path) -> None:
    certificate, key = write(issue_now(), tmp_path)
    with pytest.raises(FileNotFoundError):
        ServedCertificate(certificate, tmp_path / "none.key")
    key.write_text(issue_now().key)
    with pytest.raises(ssl.SSLError):
        ServedCertificate(certificate, key)


def test_old_tls_is_not_spoken(tmp_path: Path) -> None:
    served = ServedCertificate(*write(issue_now(), tmp_path))
    assert served.context().minimum_version is ssl.TLSVersion.TLSv1_2


def test_each_port_has_its_own_application(tmp_path: Path) -> None:
    context = ServedCertificate(*write(issue_now(), tmp_path)).context()
    by_port = AppByPort(plain=lambda _environ, _start: [b"plain"], secure=lambda _environ, _start: [b"secure"])

    def start(*_: Any) -> None:
        raise AssertionError("the applications here start no answer")

    here, there = socket.socketpair()
    with here, there:
        assert by_port({"gunicorn.socket": here}, start) == [b"plain"]
        with context.wrap_socket(there, server_side=True, do_handshake_on_connect=False) as wrapped:
            assert by_port({"gunicorn.socket": wrapped}, start) == [b"secure"]


def test_stamp_sees_a_file_that_is_written_in_place(tmp_path: Path) -> None:
    first, second = issue_now(), issue_now()
    certificate, key = write(first, tmp_path)
    served = ServedCertificate(certificate, key)
    for path, text in ((certificate, second.certificate), (key, second.key)):
        before = path.stat().st_mtime_ns
        path.write_text(text)
        os.utime(path, ns=(before + 1, before + 1))
    assert is_trusted(served, second)
