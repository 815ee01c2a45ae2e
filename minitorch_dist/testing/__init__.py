"""What tests of distributed programs stand on."""
