"""Sequences on demand: they behave as the tuple of their members does, and keep none of them."""
from __future__ import annotations

import unittest
from collections.abc import Iterator

from benchkit.basics.on_demand import OnDemand


class Squares(unittest.TestCase):
    def setUp(self) -> None:
        self.made: list[int] = []
        self.squares = OnDemand(10, self._read)
        self.as_tuple = tuple(number * number for number in range(10))

    def _read(self, start: int, stop: int) -> Iterator[int]:
        for number in range(start, stop):
            self.made.append(number)
            yield number * number

    def test_members_slices_and_length_are_those_of_the_tuple(self) -> None:
        self.assertEqual(len(self.squares), 10)
        self.assertEqual(tuple(self.squares), self.as_tuple)
        for place in (0, 3, 9, -1, -10):
            with self.subTest(place):
                self.assertEqual(self.squares[place], self.as_tuple[place])
        for places in (slice(2, 5), slice(None, 4), slice(-3, None), slice(1, None, 3), slice(None, None, -1),
                       slice(7, 2), slice(3, 99)):
            with self.subTest(places):
                self.assertEqual(tuple(self.squares[places]), self.as_tuple[places])
                self.assertEqual(len(self.squares[places]), len(self.as_tuple[places]))

    def test_a_slice_of_a_slice_is_counted_from_its_own_beginning(self) -> None:
        part = self.squares[2:8][1:4]
        self.assertEqual((tuple(part), part[0], part[-1]), ((9, 16, 25), 9, 25))

    def test_a_place_outside_is_an_index_error(self) -> None:
        for place in (10, -11):
            with self.subTest(place), self.assertRaises(IndexError):
                self.squares[place]

    def test_it_is_equal_to_what_has_equal_members(self) -> None:
        self.assertEqual(self.squares, self.as_tuple)
        self.assertEqual(self.squares, OnDemand(10, self._read))
        self.assertNotEqual(self.squares, self.as_tuple[:9])
        self.assertNotEqual(self.squares, "0149")
        self.assertEqual(hash(self.squares), hash(self.as_tuple))

    def test_only_members_that_are_asked_for_are_made(self) -> None:
        part = self.squares[2:8]
        self.assertEqual(self.made, [])
        self.assertEqual(part[1], 9)
        self.assertEqual(self.made, [3])

    def test_it_shows_a_few(self) -> None:
        self.assertEqual(repr(self.squares), "<10 on demand: 0, 1, 4, ...>")
        self.assertEqual(repr(self.squares[:2]), "<2 on demand: 0, 1>")
