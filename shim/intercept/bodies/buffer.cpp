// SPDX-License-Identifier: BSD-3-Clause
// The process's buffer for buffered sends, MPI-4.1 §3.6. Both libraries count by it: ours keeps copies in memory of its own, so
// the user's memory stays the substrate's.
#include <string>

#include "shim/intercept/bodies/arguments.hpp"
#include "shim/intercept/buffer_pool.hpp"
#include "shim/intercept/generated/bodies.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// The substrate has no MPI_BUFFER_AUTOMATIC, and its buffers have int sizes.
bool can_attach_below(const BufferPool::Attached& buffer) {
  return is_active() && buffer.address != MPI_BUFFER_AUTOMATIC && buffer.bytes <= 0x7fffffff;
}

int attach(const char* function, void* address, Count size) {
  BufferPool::Attached buffer{address, size};
  int code = deliver(Subject(), function, [&]() -> base::Status {
    if (size < 0) return Error(ErrorClass::arg, "the size " + std::to_string(size) + " is negative");
    return process_buffer().attach(buffer);
  });
  if (code != MPI_SUCCESS || !can_attach_below(buffer)) return code;
  code = active_table.Buffer_attach(address, static_cast<int>(size));
  if (code != MPI_SUCCESS) static_cast<void>(process_buffer().detach());  // nothing was sent through it yet
  return code;
}

template <typename Size>
int detach(const char* function, void* address, Size* size) {
  return deliver(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_output(address, "buffer address"));
    SHIM_TRY(check_output(size, "buffer size"));
    SHIM_TRY_ASSIGN(auto buffer, process_buffer().detach());
    if (!buffer) return Error(ErrorClass::buffer, "no buffer is attached");
    if (can_attach_below(*buffer)) {
      void* below = nullptr;
      int bytes = 0;
      active_table.Buffer_detach(&below, &bytes);  // waits for the substrate's own buffered sends
    }
    *static_cast<void**>(address) = buffer->address;
    *size = static_cast<Size>(buffer->bytes);
    return {};
  });
}

/// The substrate knows no flush, but detaching flushes.
void flush_below() {
  auto buffer = process_buffer().attached();
  if (!buffer || !can_attach_below(*buffer)) return;
  void* address = nullptr;
  int bytes = 0;
  if (active_table.Buffer_detach(&address, &bytes) == MPI_SUCCESS) active_table.Buffer_attach(address, bytes);
}

}  // namespace

void attach_below() {
  auto buffer = process_buffer().attached();
  if (buffer && can_attach_below(*buffer)) active_table.Buffer_attach(buffer->address, static_cast<int>(buffer->bytes));
}

namespace ours {

int Buffer_attach(void* buffer, int size) { return attach("MPI_Buffer_attach", buffer, size); }
int Buffer_attach_c(void* buffer, MPI_Count size) { return attach("MPI_Buffer_attach_c", buffer, size); }
int Buffer_detach(void* buffer_addr, int* size) { return detach("MPI_Buffer_detach", buffer_addr, size); }
int Buffer_detach_c(void* buffer_addr, MPI_Count* size) { return detach("MPI_Buffer_detach_c", buffer_addr, size); }

int Buffer_flush() {
  return deliver(Subject(), "MPI_Buffer_flush", [&]() -> base::Status {
    SHIM_TRY(process_buffer().flush());
    flush_below();
    return {};
  });
}

}  // namespace ours
}  // namespace shim::intercept
