// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/coll/collective.hpp"

#include <string>

namespace shim::intercept {

using base::Error;
using base::ErrorClass;

coll::Task run_with_state(Kept, coll::Task task) { co_await task; }
coll::Task run_with_state(Kept held, coll::Task task, UserException& thrown) {
  thrown.forget();  // from an earlier start that ended with another error
  return run_with_state(std::move(held), coll::ending_as(std::move(task), [&thrown] {
                          return thrown.take_as_error();
                        }));
}

namespace slow {

void record_refusal(MPI_Comm handle, bool is_persistent_collective, const base::Error& reason) {
  if (const sessions::CommunicatorPtr* comm = find_comm(handle))
    (*comm)->coll().record_refusal(reason, is_persistent_collective);
}

base::Status check_root(const sessions::Communicator& comm, int root) {
  if (comm.is_inter() && (root == MPI_ROOT || root == MPI_PROC_NULL)) return {};
  Error error = bad_rank(comm, root, "root");
  return Error(ErrorClass::root, error.text());
}

base::Status check_no_alias(const types::ConstBuffer& one, const types::ConstBuffer& other) {
  auto first_byte = [](const types::ConstBuffer& buffer) -> const std::byte* {
    if (buffer.type == nullptr || buffer.bytes() == 0) return nullptr;  // MPI_IN_PLACE, or no data
    return types::find_one_run(*buffer.type, const_cast<void*>(buffer.address), 1);
  };
  const std::byte* first = first_byte(one);
  if (first == nullptr || first != first_byte(other)) return {};
  return Error(ErrorClass::buffer, "send and receive buffer are the same memory: use MPI_IN_PLACE");
}

Error in_place_elsewhere() { return {ErrorClass::buffer, "MPI_IN_PLACE is for the root only"}; }

Error no_arrays(const char* what) {
  return {ErrorClass::arg,
          std::string("the ") + what + " counts or displacements are a null pointer"};
}

Error negative_count(const coll::Integers& counts, const char* what) {
  std::size_t rank = 0;
  while (counts[rank] >= 0) ++rank;
  return {ErrorClass::count,
          std::string("the ") + what + " count for rank " + std::to_string(rank) + " is negative"};
}

base::Status check_blocks(const void* base, const types::Type& type, const coll::Blocks& blocks) {
  bool has_data = false;
  for (std::size_t i = 0; i < blocks.counts.size(); ++i)
    has_data |= blocks.counts[i] > 0 && blocks.displacements[i] == 0;
  return check_address(base, needs_address(type, has_data));
}

}  // namespace slow

void Arrays::keep() {
  for (const coll::Integers& array : {blocks.counts, blocks.displacements})
    for (std::size_t i = 0; i < array.size(); ++i) kept_.push_back(array[i]);
  const std::size_t size = blocks.counts.size();
  blocks = {{kept_.data(), size}, {kept_.data() + size, size}};
}

}  // namespace shim::intercept
