"""What the benchmarks share: data, sites, model servers, rivals, tables."""
