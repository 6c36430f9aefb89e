"""The model of the examples: a folder with a tokenizer of few words, and no weights."""

import json
from pathlib import Path

MODEL = "Qwen/Qwen3-0.6B"
"""By this name the pods find the folder, and clients ask for it."""
WORDS = 8192
SHAPE = {
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
}
"""Of the weights that it does not have: a profiler computes with it."""


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
            **SHAPE,
        },
        "generation_config.json": {"bos_token_id": 1, "eos_token_id": 2},
    }
    for name, content in files.items():
        (home / name).write_text(json.dumps(content))
