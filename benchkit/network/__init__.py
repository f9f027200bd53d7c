"""The only package that opens sockets: addresses, one request at a time, retries, and the dialects of servers."""
