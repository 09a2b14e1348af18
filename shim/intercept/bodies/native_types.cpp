// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/bodies/native_types.hpp"

#include <string>
#include <vector>

#include "shim/intercept/generated/table.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

struct Envelope {
  int integers = 0, addresses = 0, datatypes = 0, combiner = MPI_COMBINER_NAMED;
};

/// The one integer and the one type of a duplicate or contiguous type.
struct Contents {
  int count = 1;
  MPI_Datatype inner{};
};

Contents contents_of(MPI_Datatype datatype, const Envelope& envelope) {
  std::vector<int> integers(static_cast<std::size_t>(envelope.integers) + 1);
  std::vector<MPI_Aint> addresses(static_cast<std::size_t>(envelope.addresses) + 1);
  std::vector<MPI_Datatype> datatypes(static_cast<std::size_t>(envelope.datatypes) + 1);
  active_table.Type_get_contents(datatype, envelope.integers, envelope.addresses, envelope.datatypes, integers.data(),
                                 addresses.data(), datatypes.data());
  return {envelope.combiner == MPI_COMBINER_CONTIGUOUS ? integers[0] : 1, datatypes[0]};
}

/// MPI_Type_get_contents makes a new handle of every derived type (MPI-4.1 §5.1.13).
void give_back(MPI_Datatype datatype) {
  Envelope envelope;
  active_table.Type_get_envelope(datatype, &envelope.integers, &envelope.addresses, &envelope.datatypes, &envelope.combiner);
  if (envelope.combiner != MPI_COMBINER_NAMED) active_table.Type_free(&datatype);
}

}  // namespace

base::Result<TypeItems> native_type_items(MPI_Datatype datatype) {
  if (const types::Type* type = abi::find_type(datatype)) return TypeItems{type, 1};
  Envelope envelope;
  if (active_table.Type_get_envelope(datatype, &envelope.integers, &envelope.addresses, &envelope.datatypes,
                                     &envelope.combiner) != MPI_SUCCESS)
    return Error(ErrorClass::type, "the datatype is not known to the MPI library below");
  if (envelope.combiner != MPI_COMBINER_DUP && envelope.combiner != MPI_COMBINER_CONTIGUOUS)
    return Error(ErrorClass::unsupported_operation,
                 "the datatype is neither predefined nor contiguous, and communicators of sessions take no others in this "
                 "version; copy the data into a contiguous buffer");
  Contents contents = contents_of(datatype, envelope);
  auto inner = native_type_items(contents.inner);
  give_back(contents.inner);
  SHIM_TRY_ASSIGN(TypeItems items, std::move(inner));
  return TypeItems{items.base, items.items * static_cast<std::uint64_t>(contents.count)};
}

}  // namespace shim::intercept
