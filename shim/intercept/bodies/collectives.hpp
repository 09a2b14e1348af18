// SPDX-License-Identifier: BSD-3-Clause
// All collectives, for the generated bodies. Each is a template with the parameters of its blocking form in MPI, and behind them
// the way it is called (collective.hpp).
#pragma once

#include "shim/intercept/bodies/coll_all.hpp"
#include "shim/intercept/bodies/coll_neighbor.hpp"
#include "shim/intercept/bodies/coll_reduce.hpp"
#include "shim/intercept/bodies/coll_rooted.hpp"
