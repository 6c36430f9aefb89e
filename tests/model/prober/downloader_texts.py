"""What the downloaders of Dynamo's releases say of a source that they cannot load, and what it means to us.

`test_downloader` collects the texts again from the real downloaders, and finds the same ones. `{endpoint}` is the
address of the played server, `{seconds}` a time that was measured.
"""

from dataclasses import dataclass

EARLY, LATE = "0.9.1", "1.6.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidOfSource:
    """A source, what is at its place (`served`), and what each release says; `means` is a part of our sentence."""

    id: str
    uri: str
    served: str
    early: str
    late: str
    means: str
    is_final: bool = True

    def said(self, release: str) -> str:
        """The text of one release."""
        return self.early if release == EARLY else self.late


_FAILED = "Download failed: "
_LISTING = (
    f"{_FAILED}Generic S3 error: Error performing list request: Error performing GET "
    "{endpoint}/bucket?list-type=2&prefix=a%2F in {seconds} - "
)
_NON_2XX = f"{_LISTING}Server returned non-2xx status code: "


def _nowhere(uri: str) -> str:
    return f"{_FAILED}LoRA {uri} not found in any source"


def _hub(name: str, served: str, uri: str = "hf://org/a", at: str = "org/a at revision main") -> SaidOfSource:
    late = f"{_FAILED}resolving Hugging Face repository {at}"
    return SaidOfSource(
        id=name, uri=uri, served=served, early=_nowhere(uri), late=late, means="no such Hugging Face repository"
    )


def _s3(name: str, served: str, late: str, means: str, *, is_final: bool = False) -> SaidOfSource:
    uri = "s3://bucket/a"
    return SaidOfSource(id=name, uri=uri, served=served, early=_nowhere(uri), late=late, means=means, is_final=is_final)


def _error(status: str, code: str) -> str:
    return f'{_NON_2XX}{status}: <?xml version="1.0"?><Error><Code>{code}</Code></Error>'


SAID = (
    _hub("absent repository", "hub 401"),
    _hub("gated repository", "hub 403"),
    _hub("absent repository, seen with a token", "hub 404"),
    _hub("absent revision", "hub 404", "hf://org/a@v2", "org/a at revision v2"),
    _hub("hub that fails", "hub 500"),
    _hub("hub that is busy", "hub 429"),
    _hub("hub that is down", "nothing"),
    SaidOfSource(
        id="repository without an adapter",
        uri="hf://org/a",
        served="hub README.md",
        early=_nowhere("hf://org/a"),
        late=f"{_FAILED}Hugging Face repository hf://org/a is not a valid LoRA: "
        "expected adapter_config.json and adapter weights",
        means="the source has no adapter",
    ),
    SaidOfSource(
        id="repository whose files may not be read",
        uri="hf://org/a",
        served="hub listed",
        early=_nowhere("hf://org/a"),
        late=f"{_FAILED}downloading adapter_config.json from Hugging Face repository org/a@{'0' * 40}",
        means="the files of the Hugging Face repository may not be read",
        is_final=False,
    ),
    SaidOfSource(
        id="absent file",
        uri="file:///no/such/adapter",
        served="nothing",
        early=f"{_FAILED}Local LoRA not found: file:///no/such/adapter",
        late=f"{_FAILED}Local LoRA not found: file:///no/such/adapter",
        means="the engine has no such file",
    ),
    _s3("empty prefix", "s3 empty", _nowhere("s3://bucket/a"), "no adapter in this S3 path", is_final=True),
    _s3("absent bucket", "s3 404 NoSuchBucket", _error("404 Not Found", "NoSuchBucket"), "no such S3", is_final=True),
    _s3("denied bucket", "s3 403 AccessDenied", _error("403 Forbidden", "AccessDenied"), "S3 denies access"),
    _s3("wrong key", "s3 403 InvalidAccessKeyId", _error("403 Forbidden", "InvalidAccessKeyId"), "S3 refuses"),
    _s3("wrong secret", "s3 403 SignatureDoesNotMatch", _error("403 Forbidden", "SignatureDoesNotMatch"), "S3 refuses"),
    _s3(
        "other region",
        "s3 301 PermanentRedirect",
        f"{_LISTING}Received redirect without LOCATION, this normally indicates an incorrectly configured region",
        "in another region",
    ),
    _s3(
        "no credentials",
        "s3 without credentials",
        f"{_FAILED}Generic S3 error: the credential provider was not enabled",
        "the worker has no S3 credentials",
    ),
    _s3("plain HTTP", "s3 without HTTP", f"{_LISTING}HTTP error: builder error", "AWS_ALLOW_HTTP=true"),
)
