"""DynamoModel: the hook that reports a model's engines and LoRA adapters, and the prober that loads the adapters."""
