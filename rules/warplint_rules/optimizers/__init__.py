"""Rules about optimizers: how they step, and updates of parameters by hand."""
