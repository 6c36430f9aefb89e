"""What the text of an engine's answer means, in words of ours: the reason, what to do, and whether to try again.

It knows the texts of Dynamo's downloader, which the releases 0.9.1 and 1.6.1 say, and those of Python's hub clients,
which workers with a source of their own may use. It knows nothing about HTTP.

The downloader says less than it knows. That of 1.6.1 has one text for a Hugging Face repository that does not exist,
may not be read or has no such revision, and for a hub that cannot be reached. That of 0.9.1 has one text for everything
but a file. So a reason names all that a text may mean, and a final one is tried again too, rarely.

Source: Dynamo, lib/llm/src/lora/{downloader,source}.rs; crate object_store, src/aws.
"""

from dataclasses import dataclass

_CREDENTIALS = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the worker's Secret (envFromSecret)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What an engine's text means: one clause with the reason, and what to do about it.

    `is_final`: trying again soon does not help, because the source is not there.
    """

    reason: str
    is_final: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A text of an engine that has `any_of` and `within` in it, for a source that begins with `scheme`.

    There are no wildcards: an engine chooses its text, and must not make a search slow.
    """

    any_of: tuple[str, ...]
    meaning: Meaning
    within: str = ""
    scheme: str = ""

    def fits(self, text: str, uri: str) -> bool:
        """Whether the text about the source `uri` is of this kind."""
        return uri.startswith(self.scheme) and self.within in text and any(one in text for one in self.any_of)


def _row(*any_of: str, says: str, within: str = "", scheme: str = "", is_final: bool = False) -> _Row:
    return _Row(any_of=any_of, meaning=Meaning(reason=says, is_final=is_final), within=within, scheme=scheme)


_S3 = "S3 error: "
_ROWS = (
    _row("LoRA management not available", says="LoRA management is not available"),
    _row("Route not found", says="the engine has no such route"),
    _row(
        *("resolving Hugging Face repository", "RepositoryNotFound", "RevisionNotFound"),
        says="no such Hugging Face repository or revision, or it may not be read, or the hub does not answer; check "
        "the name, the revision, and HF_TOKEN in the worker's Secret (envFromSecret)",
        is_final=True,
    ),
    _row(
        *("GatedRepo", " from Hugging Face repository"),
        says="the files of the Hugging Face repository may not be read, or the hub does not answer; check that "
        "HF_TOKEN in the worker's Secret (envFromSecret) has access",
    ),
    _row(
        *("invalid Hugging Face repository", "invalid Hugging Face revision", "No bucket in S3 URI"),
        says="the engine cannot read source.uri; write hf://org/name[@revision] or s3://bucket/path",
        is_final=True,
    ),
    _row(
        *("is not a valid LoRA", "failed validation"),
        says="the source has no adapter: it needs adapter_config.json and the adapter's weights",
        is_final=True,
    ),
    _row(
        "not found in any source",
        says="the engine's release does not read hf://, which Dynamo does from 1.3 on; take s3://, or a later release",
        scheme="hf://",
        is_final=True,
    ),
    _row(
        "not found in any source",
        says="no adapter in this S3 path, or it may not be read; check bucket, path, AWS_ENDPOINT, AWS_REGION, and "
        + _CREDENTIALS,
        is_final=True,
    ),
    _row(
        "Local LoRA not found",
        says="the engine has no such file; check the path, and that the worker's pods mount its volume",
        is_final=True,
    ),
    _row(
        *("the credential provider was not enabled", "error occurred while loading credentials"),
        says=f"the worker has no S3 credentials; set {_CREDENTIALS}",
    ),
    _row("NoSuchBucket", says="no such S3 bucket; check its name, AWS_ENDPOINT and AWS_REGION", is_final=True),
    _row("NoSuchKey", says="the source does not exist; check source.uri", is_final=True),
    _row("InvalidAccessKeyId", "SignatureDoesNotMatch", says=f"S3 refuses the credentials; check {_CREDENTIALS}"),
    _row("403 Forbidden", within=_S3, says=f"S3 denies access; check the rights of {_CREDENTIALS}"),
    _row("AccessDenied", says=f"the source may not be read; check the rights of {_CREDENTIALS}"),
    _row("redirect without LOCATION", says="the S3 bucket is in another region; set AWS_REGION of the worker"),
    _row(
        "builder error",
        within=_S3,
        says="the worker cannot use this AWS_ENDPOINT; for http:// set AWS_ALLOW_HTTP=true",
    ),
    _row("error sending request", within=_S3, says="the worker does not reach S3; check AWS_ENDPOINT and the network"),
    _row(_S3, says="S3 fails; check AWS_ENDPOINT and AWS_REGION of the worker"),
    _row(
        *("EntryNotFound", "404 Client Error", "404 Not Found"),
        says="the source does not exist; check source.uri",
        is_final=True,
    ),
    _row(
        *("401 Client Error", "403 Client Error", "Permission denied"),
        says="the source may not be read; check the worker's credentials",
    ),
    _row("max_lora_rank", "LoRA rank", says="the adapter's rank is above the engine's max_lora_rank"),
    _row("out of memory", "OutOfMemory", says="the engine is out of memory"),
    _row("No space left on device", says="the engine's disk is full"),
)
"""The first match counts, so that narrow texts come before those that may stand in them."""


def read_text(text: str, uri: str = "") -> Meaning | None:
    """What an engine's text means after a call about the source `uri`; None if it is not known.

    The source is not searched: a repository may be called `no-404-Not-Found`.
    """
    said = text.replace(uri, "") if uri else text
    return next((row.meaning for row in _ROWS if row.fits(said, uri)), None)
