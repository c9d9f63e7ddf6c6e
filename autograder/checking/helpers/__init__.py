"""Parts that checks of several days share."""
