"""One fact, one version, one holder: what every change of a memory is made of."""
