"""The parts of Layercost's exporter: target, inputs, program."""
