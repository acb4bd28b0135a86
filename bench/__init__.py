"""What `make bench` measures: ratios within one run, never a gate. docs/benchmarks.md says how to read them."""
