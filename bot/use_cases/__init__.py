"""What people do with an approval: decide, propose, assign, approve for later calls."""
