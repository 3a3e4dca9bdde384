"""What ran, as frozen values: a layer of attention, a block, a whole model; and the recorder that makes them."""
