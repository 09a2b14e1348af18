// SPDX-License-Identifier: BSD-3-Clause
// Includes all collectives for the generated implementations. Each is a template with the
// parameters of its blocking MPI form, followed by the call mode (collective.hpp).
#pragma once

#include "shim/intercept/impl/coll/coll_all.hpp"
#include "shim/intercept/impl/coll/coll_neighbor.hpp"
#include "shim/intercept/impl/coll/coll_reduce.hpp"
#include "shim/intercept/impl/coll/coll_rooted.hpp"
