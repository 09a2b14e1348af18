# SPDX-License-Identifier: BSD-3-Clause
"""Bad lines between simulated nodes, also where the kernel has no netem: frames are lost, doubled, late, overtaken or cut in odd
pieces, and now and then a line stands still.

Each node's eth0 is a TAP device, whose other end is held by a process that is the switch between them: all that nodes send each
other, TCP and UDP alike, passes through it as plain bytes. TAP devices, and not packet sockets on veth pairs, because the kernel
hands over whole frames there: checksums filled in, nothing longer than a cable would carry.
"""
import contextlib
import dataclasses
import fcntl
import heapq
import os
import random
import selectors
import struct
import sys
import time

import kernel

_TUNSETIFF, _IFF_TAP, _IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
_LONGEST_FRAME = 2048
_FRAMES_AT_ONCE = 64
_ETHERNET, _IPV4, _TCP = 14, b"\x08\x00", 6
_FIN, _SYN, _PSH, _URG = 0x01, 0x02, 0x08, 0x20
_PIECES = (1, 2, 3, 7, 13, 61, 127, 509)


@dataclasses.dataclass(frozen=True)
class Faults:
    """Chances are of each frame, times in seconds."""
    lost: float = 0
    doubled: float = 0
    late: float = 0         # by up to late_by, while others overtake it
    late_by: float = 0
    cut: float = 0          # TCP alone: its bytes come in pieces, with pauses
    pause: float = 0
    delay: float = 0        # of every frame
    still_every: float = 0  # a line works for so long on average,
    still_for: float = 0    # then brings nothing for so long, and after that everything


KINDS = {
    # A loss costs TCP a fifth of a second where nothing follows what was lost, so few are enough.
    "bad": Faults(lost=0.002, doubled=0.01, late=0.03, late_by=0.004, cut=0.05, pause=0.001, still_every=1.5, still_for=0.25),
    "slow": Faults(delay=0.002),
}


def _checksum(data: bytes) -> int:
    padded = data + b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def cut(frame: bytes, sizes: list[int]) -> list[bytes]:
    """The frame's bytes of TCP in frames of these sizes and one of what is left; the frame itself where it is not of that kind."""
    is_whole_tcp = frame[12:14] == _IPV4 and frame[23] == _TCP and not struct.unpack_from("!H", frame, 20)[0] & 0x3FFF
    if not is_whole_tcp:
        return [frame]
    tcp = _ETHERNET + (frame[_ETHERNET] & 15) * 4
    begin, end = tcp + (frame[tcp + 12] >> 4) * 4, _ETHERNET + struct.unpack_from("!H", frame, 16)[0]
    flags, sequence = frame[tcp + 13], struct.unpack_from("!I", frame, tcp + 4)[0]
    if flags & (_SYN | _URG):
        return [frame]
    pieces, at = [], begin
    for size in [*sizes, end - begin]:
        if at == end:
            break
        data = frame[at:min(at + size, end)]
        is_last = at + len(data) == end
        piece = bytearray(frame[:begin] + data)
        struct.pack_into("!H", piece, 16, len(piece) - _ETHERNET)
        struct.pack_into("!I", piece, tcp + 4, (sequence + at - begin) & 0xFFFFFFFF)
        piece[tcp + 13] = flags if is_last else flags & ~(_FIN | _PSH)
        struct.pack_into("!H", piece, 24, 0)
        struct.pack_into("!H", piece, 24, _checksum(bytes(piece[_ETHERNET:tcp])))
        struct.pack_into("!H", piece, tcp + 16, 0)
        pseudo = piece[26:34] + struct.pack("!BBH", 0, _TCP, len(piece) - tcp)
        struct.pack_into("!H", piece, tcp + 16, _checksum(bytes(pseudo + piece[tcp:])))
        pieces.append(bytes(piece))
        at += len(data)
    return pieces or [frame]


class Switch:
    """What becomes of frames, and when. It sends and receives nothing: take() what has come, send what is due()."""

    def __init__(self, ports: int, faults: Faults, begin: float = 0.0):
        self.counts = dict.fromkeys(("frames", "lost", "doubled", "late", "cut", "still"), 0)
        self._faults = faults
        self._random = random.Random(1)
        self._port_of: dict[bytes, int] = {}  # by hardware addresses that have sent something
        self._waiting: list[tuple[float, int, int, bytes]] = []  # a heap: when, in which order, whereto, what
        self._order = 0
        self._works_until = [self._next_pause(begin) for _ in range(ports)]
        self._still_until = [0.0] * ports

    def _next_pause(self, now: float) -> float:
        every = self._faults.still_every
        return now + self._random.expovariate(1 / every) if every else float("inf")

    def take(self, port: int, frame: bytes, now: float) -> None:
        """A frame that the node at this port has sent."""
        self._port_of[frame[6:12]] = port
        to = self._port_of.get(frame[0:6])
        for other in range(len(self._still_until)) if to is None else [to]:
            if other != port:
                self._bring(other, frame, now)

    def _happens(self, what: str) -> bool:
        if self._random.random() >= getattr(self._faults, what):
            return False
        self.counts[what] += 1
        return True

    def _bring(self, to: int, frame: bytes, now: float) -> None:
        faults = self._faults
        self.counts["frames"] += 1
        if self._happens("lost"):
            return
        at = now + faults.delay
        if self._happens("late"):
            at += self._random.uniform(0, faults.late_by)
        pieces = [frame]
        if self._happens("cut"):
            pieces = cut(frame, self._random.choices(_PIECES, k=3))
        for number, piece in enumerate(pieces):
            self._put(to, piece, at + number * faults.pause)
        if self._happens("doubled"):
            self._put(to, frame, at + self._random.uniform(0, faults.late_by))

    def _put(self, to: int, frame: bytes, at: float) -> None:
        self._order += 1
        heapq.heappush(self._waiting, (at, self._order, to, frame))

    def _stands_still(self, port: int, now: float) -> bool:
        if now < self._still_until[port]:
            return True
        if now < self._works_until[port]:
            return False
        self.counts["still"] += 1
        self._still_until[port] = now + self._faults.still_for
        self._works_until[port] = self._next_pause(self._still_until[port])
        return True

    def due(self, now: float) -> list[tuple[int, bytes]]:
        """The frames that arrive by now, in their order, each with the port of its node."""
        frames = []
        while self._waiting and self._waiting[0][0] <= now:
            _, order, to, frame = heapq.heappop(self._waiting)
            if self._stands_still(to, now):
                heapq.heappush(self._waiting, (self._still_until[to], order, to, frame))
            else:
                frames.append((to, frame))
        return frames

    def next_due(self) -> float | None:
        """When the next of them arrives."""
        return self._waiting[0][0] if self._waiting else None


def _make_tap(name: str) -> int:
    """A TAP device in the network namespace of the caller; it exists until the descriptor is closed."""
    try:
        tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tap, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TAP | _IFF_NO_PI))
    except OSError as error:
        raise kernel.Forbidden(f"the kernel makes no TAP devices: {error}") from error
    return tap


class Lines:
    """TAP devices of these names in the caller's network namespace, to be moved into their nodes, and the process that joins them."""

    def __init__(self, kind: str, names: list[str]):
        self._faults = KINDS[kind]
        self._taps = [_make_tap(name) for name in names]
        self._hold = -1
        self.pid = -1

    def start(self) -> None:
        hold_in, self._hold = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            kernel.die_with_parent()
            os.close(self._hold)
            self._join(hold_in)
            os._exit(0)
        os.close(hold_in)
        for tap in self._taps:
            os.close(tap)

    def end(self) -> None:
        """The process says what it has done to how many frames, and ends."""
        os.close(self._hold)
        os.waitpid(self.pid, 0)

    def _join(self, hold: int) -> None:
        switch = Switch(len(self._taps), self._faults, time.monotonic())
        with selectors.DefaultSelector() as selector:
            selector.register(hold, selectors.EVENT_READ, None)
            for port, tap in enumerate(self._taps):
                selector.register(tap, selectors.EVENT_READ, port)
            while True:
                due = switch.next_due()
                ready = selector.select(None if due is None else max(0.0, due - time.monotonic()))
                for key, _ in ready:
                    if key.data is None:
                        print("lines: " + ", ".join(f"{count} {what}" for what, count in switch.counts.items()), file=sys.stderr, flush=True)
                        return
                    self._take_from(key.data, switch)
                for port, frame in switch.due(time.monotonic()):
                    with contextlib.suppress(OSError):  # no room, or a node without its eth0 by now: one more that is lost
                        os.write(self._taps[port], frame)

    def _take_from(self, port: int, switch: Switch) -> None:
        with contextlib.suppress(BlockingIOError):
            for _ in range(_FRAMES_AT_ONCE):
                switch.take(port, os.read(self._taps[port], _LONGEST_FRAME), time.monotonic())
