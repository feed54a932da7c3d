"""How dates are written, where a template does not say it itself."""
