"""`python -m prompt_to_token`: the same as the command `prompt-to-token`."""

from .start import main

raise SystemExit(main())
