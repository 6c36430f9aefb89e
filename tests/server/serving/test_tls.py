"""The certificate of admission: two files that do not always match."""

import ssl
from pathlib import Path

import pytest

from hooks.server.serving.tls import CertificateFiles, Contexts
from tests.server.serving.servers import issue_now


def load(files: CertificateFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    return context


@pytest.fixture
def files(tmp_path: Path) -> CertificateFiles:
    issued, found = issue_now(), CertificateFiles(certificate=tmp_path / "tls.crt", key=tmp_path / "tls.key")
    found.certificate.write_text(issued.certificate)
    found.key.write_text(issued.key)
    return found


def test_files_of_one_certificate_pass(files: CertificateFiles) -> None:
    files.check()


@pytest.mark.parametrize("end", ["crt", "key"])
def test_files_that_do_not_match_are_refused(files: CertificateFiles, end: str) -> None:
    other = issue_now()
    (files.certificate.parent / f"tls.{end}").write_text(other.certificate if end == "crt" else other.key)
    with pytest.raises(ssl.SSLError, match="mismatch"):
        files.check()


def test_missing_file_is_refused(files: CertificateFiles) -> None:
    files.key.unlink()
    with pytest.raises(FileNotFoundError):
        files.check()


def test_connection_between_the_two_writes_of_a_renewal_gets_the_new_certificate(
    files: CertificateFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewed = issue_now()
    files.certificate.write_text(renewed.certificate)
    monkeypatch.setattr("hooks.server.serving.tls.time.sleep", lambda _seconds: files.key.write_text(renewed.key))
    assert isinstance(Contexts(files).create(None, lambda: load(files)), ssl.SSLContext)


def test_files_that_stay_different_are_an_error(files: CertificateFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    files.certificate.write_text(issue_now().certificate)
    waits: list[float] = []
    monkeypatch.setattr("hooks.server.serving.tls.time.sleep", waits.append)
    with pytest.raises(ssl.SSLError, match="mismatch"):
        Contexts(files).create(None, lambda: load(files))
    assert waits == [0.1]


def test_context_is_that_of_before_until_a_file_changes(files: CertificateFiles) -> None:
    contexts, renewed = Contexts(files), issue_now()
    first = contexts.create(None, lambda: load(files))
    assert contexts.create(None, lambda: load(files)) is first
    files.certificate.write_text(renewed.certificate)
    files.key.write_text(renewed.key)
    second = contexts.create(None, lambda: load(files))
    assert second is not first
    assert contexts.create(None, lambda: load(files)) is second


@pytest.mark.parametrize("fault", ["missing", "different"])
def test_context_of_before_stays_while_the_files_cannot_be_used(files: CertificateFiles, fault: str) -> None:
    contexts = Contexts(files)
    first = contexts.create(None, lambda: load(files))
    if fault == "missing":
        files.key.unlink()
    else:
        files.key.write_text(issue_now().key)
    assert contexts.create(None, lambda: load(files)) is first
    renewed = issue_now()
    files.certificate.write_text(renewed.certificate)
    files.key.write_text(renewed.key)
    assert contexts.create(None, lambda: load(files)) is not first
