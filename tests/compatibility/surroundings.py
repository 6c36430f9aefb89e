"""What a cluster gives a graph: etcd, NATS, an API server, the model in a folder."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.compatibility.api_server import Store, running_api_server
from tests.etcd_server import running_etcd
from tests.nats_server import running_nats

MODEL = "Qwen/Qwen3-0.6B"
"""The model of the examples. Here it is a folder with a tokenizer of few words, and no weights."""
WORDS = 8192
API_ADDRESS = "127.0.0.1"


def write_model(folder: Path) -> None:
    """Write the model below the folder, which is the pods' working directory: they find it by its name."""
    home = folder / MODEL
    home.mkdir(parents=True, exist_ok=True)
    special = ("<unk>", "<s>", "</s>")
    vocabulary = {
        word: number for number, word in enumerate((*special, *(f"w{n}" for n in range(len(special), WORDS))))
    }
    options = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    files = {
        "tokenizer.json": {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [{"id": vocabulary[word], "content": word, **options} for word in special],
            "normalizer": None,
            "pre_tokenizer": {"type": "Whitespace"},
            "post_processor": None,
            "decoder": None,
            "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"},
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "<s>",
            "eos_token": "</s>",
            "chat_template": "{% for message in messages %}{{ message.role }} {{ message.content }} {% endfor %}",
        },
        "config.json": {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "bos_token_id": 1,
            "eos_token_id": 2,
            "vocab_size": WORDS,
            "max_position_embeddings": 4096,
        },
        "generation_config.json": {"bos_token_id": 1, "eos_token_id": 2},
    }
    for name, content in files.items():
        (home / name).write_text(json.dumps(content))


@contextmanager
def running_cluster(folder: Path) -> Iterator[tuple[Path, Store]]:
    """Run the API server and give a kubeconfig for it, and its objects."""
    with running_api_server(API_ADDRESS) as (url, store):
        kubeconfig = folder / "kubeconfig"
        context = {"cluster": "here", "user": "pod", "namespace": "default"}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "here", "cluster": {"server": url}}],
            "users": [{"name": "pod", "user": {}}],
            "contexts": [{"name": "here", "context": context}],
            "current-context": "here",
        }
        kubeconfig.write_text(yaml.safe_dump(config))
        yield kubeconfig, store


__all__ = ["MODEL", "running_cluster", "running_etcd", "running_nats", "write_model"]
