// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/unlisted_reductions.hpp"

#include <vector>

namespace shim::intercept::abi {
namespace {

struct Row {
  const types::Type* type;
  types::Operator op;
  const types::Type* computed_as;
};

std::vector<Row> make_rows() {
  std::vector<Row> rows;
  for (const UnlistedReduction& row : kUnlistedReductions)
    rows.push_back(
        {types::find_predefined(row.type), row.op, types::find_predefined(row.computed_as)});
  return rows;
}

}  // namespace

const types::Type* unlisted_reduction_type(const types::Type& type, types::Operator op) {
  static const std::vector<Row>& rows = *new std::vector<Row>(make_rows());  // used during exit
  for (const Row& row : rows)
    if (row.type == &type && row.op == op) return row.computed_as;
  return nullptr;
}

}  // namespace shim::intercept::abi
