"""DynamoModel: endpoints found, adapters loaded and kept; and the prober that talks to the engines."""
