# SPDX-License-Identifier: BSD-3-Clause
"""Makes nodes of namespaces, each with its own network, host name, System V IPC and /dev/shm.

All namespaces are unnamed and belong to one process, the first of a PID namespace: when it ends in
any way, the kernel removes processes, interfaces and mounts. Parallel runs cannot collide.
"""
import glob
import os
import subprocess

import kernel

# Folder of session directories and of files for the agent, on each node; a separate file system, so
# that a test can fill /dev/shm.
PRIVATE = "/dev/shm/.node"
READ_ONLY = "read-only"
_NETWORK = "10.77.0"


class Node:
    """A node: the namespaces of a process that waits until its pipe is closed."""

    def __init__(self, index: int, shm: str, clock: int = 0, cores: str = "", hidden: str = ""):
        self.index = index
        self.cores = cores
        self.name = f"node{index}"
        self.address = f"{_NETWORK}.{index + 1}"
        ready_in, ready_out = os.pipe()
        hold_in, self._hold = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self._be_a_node(ready_out, hold_in, shm, clock, hidden)
        os.close(ready_out)
        os.close(hold_in)
        with os.fdopen(ready_in) as answer:
            failure = answer.read()
        if failure != "ready":
            raise kernel.Forbidden(failure or f"{self.name} ended while it was made")

    def _be_a_node(self, ready: int, hold: int, shm: str, clock: int, hidden: str) -> None:
        try:
            kernel.die_with_parent()
            os.close(self._hold)
            kernel.unshare(
                kernel.CLONE_NEWNET
                | kernel.CLONE_NEWUTS
                | kernel.CLONE_NEWNS
                | kernel.CLONE_NEWIPC,
                "network, host name, mount and IPC",
            )
            kernel.set_hostname(self.name)
            if clock:
                kernel.set_clocks_ahead(clock)
            size = f",size={shm}" if shm and shm != READ_ONLY else ""
            kernel.mount("tmpfs", "/dev/shm", "tmpfs", options=f"mode=1777{size}")
            os.mkdir(PRIVATE)
            kernel.mount("tmpfs", PRIVATE, "tmpfs")
            if shm == READ_ONLY:
                kernel.mount(
                    "", "/dev/shm", "", kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY
                )
            _hide(hidden)
            _disable_ipv6()
            os.write(ready, b"ready")
        except kernel.Forbidden as error:
            os.write(ready, str(error).encode())
            os._exit(1)
        os.close(ready)
        os.read(hold, 1)
        os._exit(0)

    def enter(self, *command: str) -> list[str]:
        """Return the command line that runs a command on this node."""
        time = f"/proc/{self.pid}/ns/time_for_children"
        # Older kernels have no time namespaces. Only root may enter one that the node did not
        # create, even the caller's own.
        clock = (
            [f"--time={time}"]
            if os.path.exists(time) and os.readlink(time) != os.readlink("/proc/self/ns/time")
            else []
        )
        # --root, --wd: those of the node's process, which in a chroot differ from the mount
        # namespace's.
        return [
            "nsenter",
            f"--target={self.pid}",
            "--net",
            "--uts",
            "--mount",
            "--root",
            "--wd",
            "--ipc",
            *clock,
            "--",
            *(["taskset", "--cpu-list", self.cores] if self.cores else []),
            *command,
        ]

    def shared_memory(self) -> list[str]:
        """Return the names of the files in /dev/shm of this node."""
        return sorted(
            name
            for name in os.listdir(f"/proc/{self.pid}/root/dev/shm")
            if f"/dev/shm/{name}" != PRIVATE
        )

    def write(self, name: str, text: str) -> None:
        """Write a file in the node's private directory."""
        with open(f"/proc/{self.pid}/root{PRIVATE}/{name}", "w", encoding="utf-8") as out:
            out.write(text)


def _hide(pattern: str) -> None:
    """Put an empty file in the place of each file whose path matches."""
    for path in glob.glob(pattern) if pattern else []:
        kernel.mount("/dev/null", os.path.realpath(path), "", kernel.MS_BIND)


def _disable_ipv6() -> None:
    # IPv6 addresses are usable only after a second (duplicate detection), and no test needs them.
    try:
        with open("/proc/sys/net/ipv6/conf/all/disable_ipv6", "w", encoding="ascii") as out:
            out.write("1")
    except OSError:
        pass  # a kernel without IPv6


def _run(command: list[str], lines: list[str]) -> None:
    done = subprocess.run(
        command, input="\n".join(lines) + "\n", text=True, capture_output=True, check=False
    )
    if done.returncode != 0:
        raise kernel.Forbidden(f"{' '.join(command)} failed: {done.stderr.strip()}")


def _share_of_cores(index: int, count: int) -> str:
    """Return the cores of one of `count` nodes; if cores are fewer than nodes, nodes share."""
    cores = sorted(os.sched_getaffinity(0))
    share = cores[index * len(cores) // count : (index + 1) * len(cores) // count]
    return ",".join(map(str, share or [cores[index % len(cores)]]))


def make_nodes(
    count: int, shm: str = "", clocks: int = 0, own_cores: bool = False, hidden: str = ""
) -> list[Node]:
    """Make the nodes, without links between them.

    shm: size of each node's /dev/shm, or READ_ONLY; empty: the kernel's default.
    clocks: seconds by which each node's monotonic clock is ahead of the node before.
    own_cores: each node has a share of the cores, instead of all nodes sharing all cores.
    hidden: pattern of files that are empty on the last node.
    """
    return [
        Node(
            index,
            shm,
            index * clocks,
            _share_of_cores(index, count) if own_cores else "",
            hidden if index == count - 1 else "",
        )
        for index in range(count)
    ]


def give_tcp_memory(nodes: list[Node], receive: int) -> None:
    """Set the initial receive buffer of TCP connections, in bytes; the maximum remains (tcp(7))."""
    for node in nodes:
        _run(
            node.enter(
                "sh",
                "-c",
                'set -- "$1" "$2" $(cat "$1"); echo "$3 $2 $5" > "$1"',
                "sh",
                "/proc/sys/net/ipv4/tcp_rmem",
                str(receive),
            ),
            [],
        )


def bridged(nodes: list[Node]) -> list[str]:
    """Return commands of `ip` that give each node an eth0 on a bridge in the caller's namespace."""
    words = ["link add br0 type bridge", "link set br0 up"]
    for node in nodes:
        words += [
            f"link add {node.name} type veth peer name eth0 netns {node.pid}",
            f"link set {node.name} master br0 up",
        ]
    return words


def moved(nodes: list[Node]) -> list[str]:
    """Return commands of `ip` that move an existing device of each node's name to the node."""
    return [f"link set {node.name} netns {node.pid} name eth0" for node in nodes]


def connect(nodes: list[Node], wiring: list[str], slots: int, netem: str = "") -> None:
    """Connect the nodes, and write their host files.

    wiring: bridged() or moved().
    netem: options of `tc qdisc add … netem`, e.g. "delay 2ms loss 0.1%", for sent frames.
    """
    _run(["ip", "-batch", "-"], ["link set lo up", *wiring])

    hosts = "127.0.0.1 localhost\n" + "".join(f"{node.address} {node.name}\n" for node in nodes)
    for node in nodes:
        _run(
            node.enter("ip", "-batch", "-"),
            ["link set lo up", f"addr add {node.address}/24 dev eth0", "link set eth0 up"],
        )
        if netem:
            _run(node.enter("tc", "-batch", "-"), [f"qdisc add dev eth0 root netem {netem}"])
        node.write("hosts", hosts)
        node.write("pids", "".join(f"{other.name} {other.pid} {other.cores}\n" for other in nodes))
        node.write("hostfile", "".join(f"{other.name} slots={slots}\n" for other in nodes))
        node.write("hydra-hosts", "".join(f"{other.name}:{slots}\n" for other in nodes))
        subprocess.run(node.enter("mount", "--bind", f"{PRIVATE}/hosts", "/etc/hosts"), check=True)
