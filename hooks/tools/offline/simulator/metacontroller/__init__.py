"""Metacontroller: CompositeController and DecoratorController, their caches and queues, and how they apply children."""
