# SPDX-License-Identifier: BSD-3-Clause
"""Tests that lossy links have all faults and deliver only frames that the kernel accepts."""
import struct
import unittest

from lossy_links import LINK_KINDS, Faults, Switch, _checksum, split_frame

_HARDWARE = [bytes([2, 0, 0, 0, 0, number]) for number in range(3)]


def tcp_frame(
    data: bytes, flags: int = 0x18, sequence: int = 0xFFFFFFFE, options: bytes = b"\1" * 12
) -> bytes:
    tcp = (
        struct.pack(
            "!HHIIBBHHH", 1000, 2000, sequence, 7, (20 + len(options)) // 4 << 4, flags, 500, 0, 0
        )
        + options
        + data
    )
    ip = struct.pack(
        "!BBHHHBBH4s4s",
        0x45,
        0,
        20 + len(tcp),
        9,
        0x4000,
        64,
        6,
        0,
        bytes([10, 77, 0, 1]),
        bytes([10, 77, 0, 2]),
    )
    return _HARDWARE[1] + _HARDWARE[0] + b"\x08\0" + ip + tcp


class SplitFrame(unittest.TestCase):
    def test_segments_keep_bytes_sequence_numbers_and_checksums(self) -> None:
        data = bytes(range(200))
        pieces = split_frame(tcp_frame(data), [1, 7, 61])
        self.assertEqual([len(piece) - 14 - 20 - 32 for piece in pieces], [1, 7, 61, 131])
        self.assertEqual(b"".join(piece[66:] for piece in pieces), data)
        numbers = [struct.unpack_from("!I", piece, 38)[0] for piece in pieces]
        self.assertEqual(numbers, [0xFFFFFFFE, 0xFFFFFFFF, 6, 67])  # with wrap-around
        for piece in pieces:
            self.assertEqual(struct.unpack_from("!H", piece, 16)[0], len(piece) - 14)
            self.assertEqual(_checksum(piece[14:34]), 0)
            self.assertEqual(
                _checksum(piece[26:34] + struct.pack("!HH", 6, len(piece) - 34) + piece[34:]), 0
            )

    def test_only_the_last_segment_has_fin(self) -> None:
        self.assertEqual(
            [piece[47] for piece in split_frame(tcp_frame(b"12345", flags=0x19), [1, 2])],
            [0x10, 0x10, 0x19],
        )

    def test_frames_without_tcp_payload_are_not_split(self) -> None:
        udp = bytearray(tcp_frame(b"12345"))
        udp[23] = 17
        arp = _HARDWARE[1] + _HARDWARE[0] + b"\x08\x06" + bytes(28)
        for frame in (tcp_frame(b""), tcp_frame(b"12345", flags=0x02), bytes(udp), arp):
            self.assertEqual(split_frame(frame, [1, 2]), [frame])

    def test_ethernet_padding_is_not_payload(self) -> None:
        self.assertEqual(
            [piece[66:] for piece in split_frame(tcp_frame(b"ab") + bytes(6), [1])], [b"a", b"b"]
        )


class SwitchTest(unittest.TestCase):
    def frame(self, source: int, to: bytes, number: int = 0) -> bytes:
        return to + _HARDWARE[source] + b"\x88\xb5" + struct.pack("!I", number)

    def known(self, faults: Faults) -> Switch:
        switch = Switch(3, faults)
        for port in range(3):
            switch.take(port, self.frame(port, b"\xff" * 6), -1.0)
        switch.due(0.0)
        return switch

    def test_frames_to_a_known_address_go_to_one_port(self) -> None:
        switch = Switch(3, Faults())
        switch.take(0, self.frame(0, _HARDWARE[2]), 0.0)
        self.assertEqual([port for port, _ in switch.due(0.0)], [1, 2])
        switch.take(2, self.frame(2, _HARDWARE[0]), 0.0)
        self.assertEqual([port for port, _ in switch.due(0.0)], [0])

    def test_a_delay_keeps_the_order(self) -> None:
        switch = self.known(Faults(delay=0.002))
        frames = [self.frame(0, _HARDWARE[1], number) for number in range(10)]
        for frame in frames:
            switch.take(0, frame, 1.0)
        self.assertEqual(switch.due(1.001), [])
        self.assertAlmostEqual(switch.next_due(), 1.002)
        self.assertEqual(switch.due(1.003), [(1, frame) for frame in frames])

    def test_stalled_link_delivers_all_frames_in_order_afterwards(self) -> None:
        switch = self.known(Faults(stall_every=1e-9, stall_for=0.5))
        frames = [self.frame(0, _HARDWARE[1], number) for number in range(5)]
        for frame in frames:
            switch.take(0, frame, 1.0)
        self.assertEqual(switch.due(1.0), [])
        self.assertAlmostEqual(switch.next_due(), 1.5)

    def test_lossy_links_have_every_fault(self) -> None:
        switch = self.known(LINK_KINDS["lossy"])
        sent = [tcp_frame(bytes(number % 1400), sequence=number) for number in range(5000)]
        for number, frame in enumerate(sent):
            switch.take(0, frame, 1.0 + number / 1000)
        arrived = []
        while (at := switch.next_due()) is not None:
            arrived += [frame for _, frame in switch.due(at)]
        for what, count in switch.counts.items():
            self.assertGreater(count, 0, what)
        self.assertLess(len(set(sent) & set(arrived)), len(sent))
        self.assertGreater(len(arrived), len(set(arrived)))
        self.assertLess(switch.counts["lost"], 50)
        self.assertNotEqual(
            arrived, sorted(arrived, key=lambda frame: struct.unpack_from("!I", frame, 38)[0])
        )


if __name__ == "__main__":
    unittest.main()
