"""What another version answers to recorded calls: what it restarts, holds and says otherwise; as text or JSON."""
