# SPDX-License-Identifier: BSD-3-Clause
"""Chooses the best algorithm of each collective from measured times, as rows of a tuning file
(docs/user/tuning.md).

A row changes only if another algorithm is faster by a tenth in the median, and faster in all
repetitions except one of seven: noise of a busy machine must not change the table.
"""
import collections
import csv
import statistics

FIRST_LINE = "intersession-coll-tuning 1"
# Measured numbers of processes, with the range of numbers that each stands for.
RANGES = {2: (2, 2), 3: (3, 3), 4: (4, 6), 8: (7, 12), 16: (13, 16)}
# Bytes. Shorter data does not use these algorithms (shim/coll/README.md).
_SHORTEST = 512
_BETTER = 0.9
_BUT_ONE_OF = 7

Point = collections.namedtuple("Point", "operation processes bytes")
# First and last length in bytes; last is None if there is no limit. otherwise: the algorithm for
# numbers of processes that are no power of two.
Row = collections.namedtuple("Row", "algorithm otherwise first last")
Block = collections.namedtuple("Block", "least most rows")  # least and most processes


class Times:
    """Output of bench/algorithm_times. is_copied: no process may read another's memory."""

    def __init__(self, is_copied=False):
        self.is_copied = is_copied
        self.points = collections.defaultdict(
            lambda: collections.defaultdict(list)
        )  # Point → algorithm → µs by repetition
        self.needs = collections.defaultdict(set)  # (operation, algorithm) → its needs
        self.present = {}  # Point → the table's present choice

    def add(self, processes, output):
        """Add the output of one job."""
        for operation, algorithm, needs, size, time, is_choice in csv.reader(output.splitlines()):
            point = Point(operation, processes, int(size))
            self.points[point][algorithm].append(float(time))
            self.needs[operation, algorithm] |= set(needs.split())
            if is_choice == "1":
                self.present[point] = algorithm

    def ratios(self, point, algorithm):
        """Return the sorted ratios of its times to the present choice, within repetitions."""
        times = self.points[point]
        return sorted(
            mine / present for mine, present in zip(times[algorithm], times[self.present[point]])
        )

    def ratio(self, point, algorithm):
        """Return the median of the ratios."""
        return statistics.median(self.ratios(point, algorithm))

    def best(self, point):
        """Return the algorithm that the table should choose."""
        found = min(self.points[point], key=lambda algorithm: self.ratio(point, algorithm))
        ratios = self.ratios(point, found)
        nearly_worst = ratios[-1 - len(ratios) // _BUT_ONE_OF]
        return (
            found
            if self.ratio(point, found) < _BETTER and nearly_worst < 1
            else self.present[point]
        )

    def best_of_any_number(self, point, preferred=None):
        """Return the best algorithm for numbers of processes that are no power of two.

        That is `preferred`, unless another one is faster by a tenth.
        """
        best = self.best(point)
        if not self.needs_power_of_two(point.operation, best):
            return best
        others = [
            name
            for name in self.points[point]
            if not self.needs_power_of_two(point.operation, name)
        ]
        if not others:
            return best
        fastest = min(others, key=lambda algorithm: self.ratio(point, algorithm))
        is_as_good = preferred in others and self.ratio(point, preferred) * _BETTER <= self.ratio(
            point, fastest
        )
        return preferred if is_as_good else fastest

    def needs_power_of_two(self, operation, algorithm):
        """True if the algorithm needs a power of two of processes."""
        return "power_of_two" in self.needs[operation, algorithm]

    def operations(self):
        """Return all operations, in the order of the output."""
        return list(dict.fromkeys(point.operation for point in self.points))


def rows(times, operation, processes):
    """Return the rows of one number of processes.

    Neighbouring lengths with the same choice share a row. A row ends at the geometric mean of its
    last length and the next one.
    """
    lengths = sorted(point.bytes for point in times.points if point[:2] == (operation, processes))
    least, most = RANGES[processes]
    found = []
    for length, following in zip(lengths, lengths[1:] + [None]):
        end = None if following is None else round((length * following) ** 0.5) - 1
        point = Point(operation, processes, length)
        best = times.best(point)
        both = (
            best,
            times.best_of_any_number(point, found[-1].otherwise if found else None)
            if least != most
            else best,
        )
        if found and found[-1][:2] == both:
            found[-1] = found[-1]._replace(last=end)
        else:
            found.append(Row(*both, found[-1].last + 1 if found else _SHORTEST, end))
    return found


def blocks(times, operation):
    """Return the blocks of an operation; neighbouring ranges with equal rows share one."""
    found = []
    for count in sorted(
        {point.processes for point in times.points if point.operation == operation}
    ):
        least, most = RANGES[count]
        here = rows(times, operation, count)
        if found and found[-1].rows == here and found[-1].most == least - 1:
            found[-1] = found[-1]._replace(most=most)
        else:
            found.append(Block(least, most, here))
    return found


def _row_texts(times, operation, block, row):
    """Yield one row, and a second one for numbers that are no power of two if it differs."""
    yield _row_text(times, operation, block, row, row.algorithm)
    if row.otherwise != row.algorithm:
        yield _row_text(times, operation, block, row, row.otherwise)


def _row_text(times, operation, block, row, algorithm):
    fields = [
        operation,
        algorithm.replace(" ", "_"),
        str(block.least) if block.least == block.most else f"{block.least}-{block.most}",
        f"{row.first}-{'' if row.last is None else row.last}",
        "segment" if times.is_copied else "memory",
    ]
    if times.needs_power_of_two(operation, algorithm):
        fields.append("power_of_two")
    return " ".join(fields) + "\n"


def text(times, operation):
    """Return the rows of an operation as lines of a tuning file."""
    return "".join(
        line
        for block in blocks(times, operation)
        for row in block.rows
        for line in _row_texts(times, operation, block, row)
    )


def file_text(all_times, comments):
    """Return a tuning file with the rows of several Times, and with these lines as comments."""
    lines = [FIRST_LINE + "\n", *(f"# {comment}\n" for comment in comments)]
    for times in all_times:
        for operation in times.operations():
            lines += ["\n", text(times, operation)]
    return "".join(lines)


def beside_others(times, algorithm):
    """Return a Markdown table of the ratios of an algorithm's times to the best other one."""
    lines = [
        "| operation | processes | bytes | best of the others | ratio (spread) | is the choice |",
        "|---|---|---|---|---|---|",
    ]
    for point, all_times in times.points.items():
        if algorithm not in all_times or len(all_times) == 1:
            continue
        other = min(
            (name for name in all_times if name != algorithm),
            key=lambda name: statistics.median(all_times[name]),
        )
        ratios = [mine / theirs for mine, theirs in zip(all_times[algorithm], all_times[other])]
        is_present = "yes" if times.present.get(point) == algorithm else "no"
        lines.append(
            f"| {point.operation} | {point.processes} | {point.bytes} "
            f"| {other}, {statistics.median(all_times[other]):.3g} µs "
            f"| {statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f}) "
            f"| {is_present} |"
        )
    return "\n".join(lines)
