"""Former addresses of what stands in `distributed.fsdp`; many scripts still import them."""
