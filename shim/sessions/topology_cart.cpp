// SPDX-License-Identifier: BSD-3-Clause
// Computes ranks and coordinates in Cartesian grids (MPI-4.1 §8.5.5), row-major. All functions are
// local.
#include <algorithm>
#include <string>

#include "shim/p2p/p2p.hpp"
#include "shim/sessions/topology.hpp"

namespace shim::sessions {
namespace {

using base::Error;
using base::ErrorClass;

int wrapped(std::int64_t coordinate, int dim) {
  return static_cast<int>((coordinate % dim + dim) % dim);
}

int rank_at(const Cartesian& cartesian, const std::vector<int>& coords) {
  int rank = 0;
  for (std::size_t i = 0; i < cartesian.dims.size(); ++i)
    rank = rank * cartesian.dims[i] + coords[i];
  return rank;
}

/// Return the neighbor's rank, or kProcNull beyond the edge.
int neighbour(const Cartesian& cartesian, std::size_t direction, std::int64_t displacement) {
  std::int64_t coordinate = cartesian.coords[direction] + displacement;
  int dim = cartesian.dims[direction];
  if (!cartesian.periods[direction] && (coordinate < 0 || coordinate >= dim)) return p2p::kProcNull;
  std::vector<int> coords = cartesian.coords;
  coords[direction] = wrapped(coordinate, dim);
  return rank_at(cartesian, coords);
}

}  // namespace

base::Result<int> cart_rank(const Cartesian& cartesian, const std::vector<int>& coords) {
  if (coords.size() != cartesian.dims.size())
    return Error(ErrorClass::dims, std::to_string(coords.size()) +
                                       " coordinates given for a grid of " +
                                       std::to_string(cartesian.dims.size()) + " dimensions");
  std::vector<int> inside = coords;
  for (std::size_t i = 0; i < coords.size(); ++i) {
    int dim = cartesian.dims[i];
    if (!cartesian.periods[i] && (coords[i] < 0 || coords[i] >= dim))
      return Error(ErrorClass::arg, "coords[" + std::to_string(i) + "] is " +
                                        std::to_string(coords[i]) + ", not in 0…" +
                                        std::to_string(dim - 1) + " of the non-periodic dimension");
    inside[i] = wrapped(coords[i], dim);
  }
  return rank_at(cartesian, inside);
}

base::Result<std::vector<int>> cart_coords(const Cartesian& cartesian, int rank) {
  int size = 1;
  for (int dim : cartesian.dims) size *= dim;
  if (rank < 0 || rank >= size)
    return Error(ErrorClass::rank, "rank " + std::to_string(rank) +
                                       " does not exist in a grid of " + std::to_string(size) +
                                       " processes");
  std::vector<int> coords(cartesian.dims.size());
  for (std::size_t i = coords.size(); i-- > 0; rank /= cartesian.dims[i])
    coords[i] = rank % cartesian.dims[i];
  return coords;
}

base::Result<Shift> cart_shift(const Cartesian& cartesian, int direction, int displacement) {
  if (direction < 0 || static_cast<std::size_t>(direction) >= cartesian.dims.size())
    return Error(ErrorClass::dims, "direction " + std::to_string(direction) +
                                       " does not exist in a grid of " +
                                       std::to_string(cartesian.dims.size()) + " dimensions");
  auto d = static_cast<std::size_t>(direction);
  return Shift{neighbour(cartesian, d, -std::int64_t{displacement}),
               neighbour(cartesian, d, displacement)};
}

}  // namespace shim::sessions
