"""What an image of a component has and what its command runs: releases, programs, flags, ports."""
