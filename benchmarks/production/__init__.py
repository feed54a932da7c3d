"""`python -m benchmarks.production`, which is `make production-test`: the production set-up on one machine."""
