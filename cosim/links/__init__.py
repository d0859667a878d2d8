"""Links: the ways between clients and their edge servers, up and down."""
