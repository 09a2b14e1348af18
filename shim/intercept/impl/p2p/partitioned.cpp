// SPDX-License-Identifier: BSD-3-Clause
// Implements the functions of partitioned communication on communicators of ours (MPI-4.1 §4.2).
#include <limits>
#include <string>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/handles/info_handles.hpp"
#include "shim/intercept/impl/p2p/partitions.hpp"
#include "shim/intercept/impl/request/completion.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

struct Partitioned {
  int partitions;
  Count count;  ///< of one partition
  MPI_Datatype datatype;
};

/// Return all partitions as one buffer: they are contiguous (MPI-4.1 §4.2.1).
template <typename Buffer, typename Address>
base::Status get_partitions(Buffer& buffer, Address address, const Partitioned& what) {
  if (what.partitions < 0)
    return Error(ErrorClass::arg,
                 "the number of partitions " + std::to_string(what.partitions) + " is negative");
  if (what.count < 0) return slow::bad_count(what.count, "count");
  if (what.partitions > 0 && what.count > std::numeric_limits<Count>::max() / what.partitions)
    return Error(ErrorClass::count, std::to_string(what.partitions) + " partitions of " +
                                        std::to_string(what.count) + " items are too many");
  return get_buffer(buffer, address, what.count * what.partitions, what.datatype);
}

base::Result<sessions::CommunicatorPtr> comm_for(MPI_Comm handle, MPI_Info info,
                                                 const MPI_Request* request) {
  auto* comm = find_comm(handle);
  if (comm == nullptr) return slow::no_comm(handle);
  SHIM_TRY(copy_info(info));  // no hint is supported
  SHIM_TRY(check_output(request, "request"));
  return *comm;
}

base::Result<PartitionedRequest*> partitioned(MPI_Request handle) {
  SHIM_TRY_ASSIGN(RequestObject * object, request_of(handle));
  auto* found = dynamic_cast<PartitionedRequest*>(object->polled);
  if (found == nullptr)
    return Error(ErrorClass::request, "the request is not a partitioned communication request");
  return found;
}

int mark(const char* function, MPI_Request request, int low, int high) {
  return run_with_handler(Subject::request(request), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(PartitionedRequest * found, partitioned(request));
    if (low > high)
      return Error(ErrorClass::arg, "invalid range of partitions: it begins with " +
                                        std::to_string(low) + " and ends with " +
                                        std::to_string(high));
    return found->ready(low, high);
  });
}

}  // namespace

namespace impl {

int Psend_init(const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
               int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return run_with_handler(Subject::comm(comm), "MPI_Psend_init", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr on, comm_for(comm, info, request));
    types::ConstBuffer data;
    SHIM_TRY(get_partitions(data, buf, {partitions, count, datatype}));
    SHIM_TRY(check_destination(*on, dest));
    SHIM_TRY(check_send_tag(tag));
    return make_request_handle(
        new PartitionedSend(partition_matcher(*on), data, partitions, abi::to_p2p_rank(dest), tag),
        {on, comm}, request);
  });
}

int Precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source,
               int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return run_with_handler(Subject::comm(comm), "MPI_Precv_init", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr on, comm_for(comm, info, request));
    types::Buffer into;
    SHIM_TRY(get_partitions(into, buf, {partitions, count, datatype}));
    if (source == MPI_ANY_SOURCE)
      return Error(ErrorClass::rank, "MPI_ANY_SOURCE is not allowed for partitioned communication");
    SHIM_TRY(check_source(*on, source));
    if (tag == MPI_ANY_TAG)
      return Error(ErrorClass::tag, "MPI_ANY_TAG is not allowed for partitioned communication");
    SHIM_TRY(check_send_tag(tag));
    return make_request_handle(new PartitionedReceive(partition_matcher(*on), into, partitions,
                                                      abi::to_p2p_rank(source), tag),
                               {on, comm}, request);
  });
}

int Pready(int partition, MPI_Request request) {
  return mark("MPI_Pready", request, partition, partition);
}
int Pready_range(int low, int high, MPI_Request request) {
  return mark("MPI_Pready_range", request, low, high);
}
int Pready_list(int length, const int partitions[], MPI_Request request) {
  return run_with_handler(Subject::request(request), "MPI_Pready_list", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(PartitionedRequest * found, partitioned(request));
    if (length < 0)
      return Error(ErrorClass::arg, "the length " + std::to_string(length) + " is negative");
    if (length > 0) SHIM_TRY(check_output(partitions, "partitions"));
    for (int i = 0; i < length; ++i) SHIM_TRY(found->ready(partitions[i], partitions[i]));
    return {};
  });
}

/// True also for a null or inactive request (MPI-4.1 §4.2.2).
int Parrived(MPI_Request request, int partition, int* flag) {
  return run_with_handler(Subject::request(request), "MPI_Parrived", [&]() -> base::Status {
    SHIM_TRY(check_output(flag, "flag"));
    if (request == abi::predefined.request_null) {
      *flag = 1;
      return {};
    }
    SHIM_TRY_ASSIGN(PartitionedRequest * found, partitioned(request));
    SHIM_TRY_ASSIGN(bool arrived, found->has_arrived(partition));
    *flag = arrived;
    return {};
  });
}

}  // namespace impl

// For null requests; the native library has no others.
namespace composed {

int Parrived(MPI_Request request, int partition, int* flag) {
  return impl::Parrived(request, partition, flag);
}

}  // namespace composed
}  // namespace shim::intercept
