# SPDX-License-Identifier: BSD-3-Clause
"""Simulates lossy links between nodes, also on kernels without netem.

Links lose, duplicate, delay, reorder and split frames, and stall at times. Each node's eth0 is a
TAP device; a process with the other ends is the switch between them and forwards all frames, of TCP
and UDP, as bytes. With TAP devices, unlike packet sockets on veth pairs, the kernel delivers final
frames: with checksums, and not longer than the MTU.
"""

from __future__ import annotations

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
    """Faults of a link: probabilities for each frame, times in seconds."""

    lost: float = 0
    duplicated: float = 0
    delayed: float = 0  # by up to delayed_by, so that other frames overtake it
    delayed_by: float = 0
    split: float = 0  # TCP only: the payload arrives in several segments, with pauses
    pause: float = 0
    delay: float = 0  # of each frame
    stall_every: float = 0  # average time between stalls
    stall_for: float = 0  # duration of a stall, after which all held frames arrive


LINK_KINDS = {
    # A lost frame without later frames delays TCP by 0.2 s, so a small probability suffices.
    "lossy": Faults(
        lost=0.002,
        duplicated=0.01,
        delayed=0.03,
        delayed_by=0.004,
        split=0.05,
        pause=0.001,
        stall_every=1.5,
        stall_for=0.25,
    ),
    "slow": Faults(delay=0.002),
}


def _checksum(data: bytes) -> int:
    padded = data + b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def split_frame(frame: bytes, sizes: list[int]) -> list[bytes]:
    """Split the TCP payload into frames of these sizes, and one of the rest.

    Return a frame without TCP payload unchanged.
    """
    is_whole_tcp = (
        frame[12:14] == _IPV4
        and frame[23] == _TCP
        and not struct.unpack_from("!H", frame, 20)[0] & 0x3FFF
    )
    if not is_whole_tcp:
        return [frame]
    tcp = _ETHERNET + (frame[_ETHERNET] & 15) * 4
    begin, end = (
        tcp + (frame[tcp + 12] >> 4) * 4,
        _ETHERNET + struct.unpack_from("!H", frame, 16)[0],
    )
    flags, sequence = frame[tcp + 13], struct.unpack_from("!I", frame, tcp + 4)[0]
    if flags & (_SYN | _URG):
        return [frame]
    pieces, at = [], begin
    for size in [*sizes, end - begin]:
        if at == end:
            break
        data = frame[at : min(at + size, end)]
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
    """Decides when and to which ports frames are forwarded; without I/O.

    The caller passes received frames to take(), and sends the frames that due() returns.
    """

    def __init__(self, ports: int, faults: Faults, begin: float = 0.0):
        self.counts = dict.fromkeys(
            ("frames", "lost", "duplicated", "delayed", "split", "stalled"), 0
        )
        self._faults = faults
        self._random = random.Random(1)
        self._port_of: dict[bytes, int] = {}  # by the hardware address of a sender
        # heap of (time, order, port, frame)
        self._waiting: list[tuple[float, int, int, bytes]] = []
        self._order = 0
        self._stalls_at = [self._next_pause(begin) for _ in range(ports)]
        self._stalled_until = [0.0] * ports

    def _next_pause(self, now: float) -> float:
        every = self._faults.stall_every
        return now + self._random.expovariate(1 / every) if every else float("inf")

    def take(self, port: int, frame: bytes, now: float) -> None:
        """Process a frame that the node at this port has sent."""
        self._port_of[frame[6:12]] = port
        to = self._port_of.get(frame[0:6])
        for other in range(len(self._stalled_until)) if to is None else [to]:
            if other != port:
                self._enqueue(other, frame, now)

    def _happens(self, what: str) -> bool:
        if self._random.random() >= getattr(self._faults, what):
            return False
        self.counts[what] += 1
        return True

    def _enqueue(self, to: int, frame: bytes, now: float) -> None:
        faults = self._faults
        self.counts["frames"] += 1
        if self._happens("lost"):
            return
        at = now + faults.delay
        if self._happens("delayed"):
            at += self._random.uniform(0, faults.delayed_by)
        pieces = [frame]
        if self._happens("split"):
            pieces = split_frame(frame, self._random.choices(_PIECES, k=3))
        for number, piece in enumerate(pieces):
            self._put(to, piece, at + number * faults.pause)
        if self._happens("duplicated"):
            self._put(to, frame, at + self._random.uniform(0, faults.delayed_by))

    def _put(self, to: int, frame: bytes, at: float) -> None:
        self._order += 1
        heapq.heappush(self._waiting, (at, self._order, to, frame))

    def _is_stalled(self, port: int, now: float) -> bool:
        if now < self._stalled_until[port]:
            return True
        if now < self._stalls_at[port]:
            return False
        self.counts["stalled"] += 1
        self._stalled_until[port] = now + self._faults.stall_for
        self._stalls_at[port] = self._next_pause(self._stalled_until[port])
        return True

    def due(self, now: float) -> list[tuple[int, bytes]]:
        """Return the frames that are due, in order, each with its port."""
        frames = []
        while self._waiting and self._waiting[0][0] <= now:
            _, order, to, frame = heapq.heappop(self._waiting)
            if self._is_stalled(to, now):
                heapq.heappush(self._waiting, (self._stalled_until[to], order, to, frame))
            else:
                frames.append((to, frame))
        return frames

    def next_due(self) -> float | None:
        """Return the time at which the next frame is due, or None."""
        return self._waiting[0][0] if self._waiting else None


def _make_tap(name: str) -> int:
    """Create a TAP device in the caller's network namespace; it lasts as long as its descriptor."""
    try:
        tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tap, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TAP | _IFF_NO_PI))
    except OSError as error:
        raise kernel.Forbidden(f"the kernel allows no TAP devices: {error}") from error
    return tap


class Links:
    """TAP devices in the caller's network namespace, and the process that switches frames.

    The caller moves each device to its node.
    """

    def __init__(self, kind: str, names: list[str]):
        self._faults = LINK_KINDS[kind]
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
        """End the process, which prints its counts."""
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
                        print(
                            "links: "
                            + ", ".join(f"{count} {what}" for what, count in switch.counts.items()),
                            file=sys.stderr,
                            flush=True,
                        )
                        return
                    self._take_from(key.data, switch)
                for port, frame in switch.due(time.monotonic()):
                    # OSError: the queue is full, or the node has ended; the frame is lost.
                    with contextlib.suppress(OSError):
                        os.write(self._taps[port], frame)

    def _take_from(self, port: int, switch: Switch) -> None:
        with contextlib.suppress(BlockingIOError):
            for _ in range(_FRAMES_AT_ONCE):
                switch.take(port, os.read(self._taps[port], _LONGEST_FRAME), time.monotonic())
