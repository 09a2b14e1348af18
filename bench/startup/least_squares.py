# SPDX-License-Identifier: BSD-3-Clause
"""Fits costs that are not negative to measurements, by least squares of relative errors."""
import numpy


def fit(features, measured):
    """Return the cost of one unit of each feature.

    features: for each measurement, the amount of each feature. The cost is 0 for features without
    effect, and for features whose cost would be negative. Of features that cannot be distinguished
    in these measurements, the last one in the order of names has cost 0.
    """
    names = sorted({name for row in features for name, amount in row.items() if amount})
    costs = dict.fromkeys((name for row in features for name in row), 0.0)
    values = numpy.asarray(measured, float)
    while names:
        amounts = numpy.array([[row.get(name, 0) for name in names] for row in features], float)
        relative = amounts / values[:, None]
        largest = numpy.abs(relative).max(axis=0)
        scaled = relative / largest
        found, _, rank, _ = numpy.linalg.lstsq(scaled, numpy.ones(len(values)), rcond=1e-6)
        if rank < len(names):
            names.pop()
        elif found.min() >= 0:
            costs.update(zip(names, map(float, found / largest)))
            return costs
        else:
            names.pop(int(found.argmin()))
    return costs


def predict(costs, row):
    """Return the sum of the costs of a row of amounts."""
    return sum(costs.get(name, 0.0) * amount for name, amount in row.items())


def leave_one_out(features, measured):
    """Return, for each measurement, the prediction from the others."""
    return [
        predict(
            fit(features[:i] + features[i + 1 :], measured[:i] + measured[i + 1 :]), features[i]
        )
        for i in range(len(features))
    ]
