# SPDX-License-Identifier: BSD-3-Clause
"""Costs that explain what was measured: least squares of relative errors, with no cost below nothing."""


def _solve(matrix, right):
    """Gaussian elimination with pivots; the matrix is square. None where it is singular."""
    n = len(right)
    rows = [list(row) + [value] for row, value in zip(matrix, right)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        if abs(rows[pivot][i]) < 1e-12:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, n):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    solution = [0.0] * n
    for i in reversed(range(n)):
        solution[i] = (rows[i][n] - sum(rows[i][k] * solution[k] for k in range(i + 1, n))) / rows[i][i]
    return solution


def fit(features, measured):
    """features: one dictionary of amounts a measurement. Answers the cost of one of each; of what has no effect, or would cost less
    than nothing, 0. What cannot be told apart from the others here counts as having no effect."""
    names = sorted({name for row in features for name, amount in row.items() if amount})
    costs = dict.fromkeys((name for row in features for name in row), 0.0)
    while names:
        rows = [[row.get(name, 0) / value for name in names] for row, value in zip(features, measured)]
        largest = [max(abs(row[i]) for row in rows) for i in range(len(names))]
        rows = [[amount / most for amount, most in zip(row, largest)] for row in rows]
        normal = [[sum(row[i] * row[j] for row in rows) for j in range(len(names))] for i in range(len(names))]
        found = _solve(normal, [sum(row[i] for row in rows) for i in range(len(names))])
        if found is not None and min(found) >= 0:
            costs.update({name: value / most for name, value, most in zip(names, found, largest)})
            return costs
        names.pop(min(range(len(names)), key=found.__getitem__) if found is not None else len(names) - 1)
    return costs


def predict(costs, row):
    return sum(costs.get(name, 0.0) * amount for name, amount in row.items())


def left_out(features, measured):
    """Each measurement as the others predict it."""
    out = []
    for i, row in enumerate(features):
        costs = fit(features[:i] + features[i + 1:], measured[:i] + measured[i + 1:])
        out.append(predict(costs, row))
    return out
