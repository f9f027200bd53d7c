"""Addresses: the texts of --host and OLLAMA_HOST, by Ollama's own rules."""
from __future__ import annotations

import unittest

from benchkit.basics.errors import Unusable
from benchkit.network.address import address_of

MEANT = {
    "": "http://127.0.0.1:11434",
    "   ": "http://127.0.0.1:11434",
    ":56789": "http://127.0.0.1:56789",
    "example.com": "http://example.com:11434",
    "example.com:80": "http://example.com:80",
    "example.com/path/": "http://example.com:11434/path",
    "example.com:1234/a/b": "http://example.com:1234/a/b",
    "http://example.com": "http://example.com:80",
    "http://example.com/": "http://example.com:80",
    "https://example.com": "https://example.com:443",
    "https://1.2.3.4:56789": "https://1.2.3.4:56789",
    "HTTPS://Example.com": "https://example.com:443",
    "'1.2.3.4'": "http://1.2.3.4:11434",
    '"1.2.3.4"': "http://1.2.3.4:11434",
    ' " 1.2.3.4 " ': "http://1.2.3.4:11434",
    "0.0.0.0": "http://127.0.0.1:11434",
    "0.0.0.0:8080": "http://127.0.0.1:8080",
    "http://0.0.0.0": "http://127.0.0.1:80",
    "[::1]": "http://[::1]:11434",
    "[::1]:99": "http://[::1]:99",
    "::1": "http://[::1]:11434",
    "::": "http://[::1]:11434",
    "[::]:99": "http://[::1]:99",
    "fe80::1": "http://[fe80::1]:11434",
    "localhost": "http://localhost:11434",
    "user:pass@localhost": "http://localhost:11434",
    "https://user:pass@example.com": "https://example.com:443",
}

REFUSED = {
    "1.2.3.4:66666": "the port must be a number from 1 to 65535",
    "1.2.3.4:0": "the port must be a number",
    "1.2.3.4:-1": "the port must be a number",
    "example.com:ollama": "the port must be a number",
    "ftp://example.com": "the scheme must be http or https",
    "://example.com:x": "the port must be a number",
    "example.com/a b": "without spaces",
    "exa\x1bmple.com": "without spaces",
    "exämple.com": "without spaces",
    "example.com/?key=1": "without spaces, ?, #",
    "http://user:sesame@example.com": "sent over https or to this machine only",
}


class Addresses(unittest.TestCase):
    def test_a_text_means_what_it_means_to_ollama(self) -> None:
        for text, url in MEANT.items():
            with self.subTest(text):
                self.assertEqual(address_of(text, "--host").url, url)

    def test_a_text_that_is_no_address_is_refused_in_one_line_that_names_its_origin(self) -> None:
        for text, words in REFUSED.items():
            with self.subTest(text), self.assertRaises(Unusable) as caught:
                address_of(text, "OLLAMA_HOST")
            line = str(caught.exception)
            self.assertIn(words, line)
            self.assertTrue(line.startswith("OLLAMA_HOST "), line)
            self.assertTrue(line.isprintable(), line)

    def test_user_name_and_password_are_in_no_text(self) -> None:
        for text in ("http://user:sesame@localhost:1", "https://user:sesame@example.com/x"):
            address = address_of(text, "--host")
            self.assertEqual(address.userinfo, "user:sesame")
            self.assertNotIn("sesame", f"{address.url} {address!r} {address}")
        for text in ("http://user:sesame@example.com", "user:sesame@1.2.3.4:99999", "ftp://user:sesame@x",
                     "https://user:sesame/1@host", "user:sesame@host?x", "sesame://a@host"):
            try:
                shown = repr(address_of(text, "--host"))
            except Unusable as error:
                shown = str(error)
            self.assertNotIn("sesame", shown)

    def test_what_stays_on_this_machine_is_known_and_a_name_may_lead_anywhere(self) -> None:
        here = ("", "127.9.9.9", "[::1]:2", "localhost", "LOCALHOST:1", "0.0.0.0", "[0:0:0:0:0:0:0:1]", "127.0.0.1/v1")
        elsewhere = (
            "example.com", "192.168.1.4", "127.evil.test", "127.0.0.1.evil.test", "127.0.0.1evil", "127.0.0.1.",
            "localhost.", "localhost.evil.test", "evil.localhost", "127.1", "127.0.0.256", "127.0.0.01", "2130706433",
            "0x7f000001", "0177.0.0.1", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[::1%eth0]", "[fe80::1]", "128.0.0.1")
        for is_loopback, texts in ((True, here), (False, elsewhere)):
            for text in texts:
                with self.subTest(text):
                    self.assertEqual(is_loopback, address_of(text, "--host").is_loopback)
