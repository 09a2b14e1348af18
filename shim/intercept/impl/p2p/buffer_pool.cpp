// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/p2p/buffer_pool.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace shim::intercept {

using base::Error;
using base::ErrorClass;

namespace {

/// Return the size limit; MPI_BUFFER_AUTOMATIC has none but memory.
std::int64_t capacity_of(const BufferPool::Attached& buffer) {
  return buffer.address == MPI_BUFFER_AUTOMATIC ? std::numeric_limits<std::int64_t>::max()
                                                : buffer.bytes;
}

}  // namespace

base::Status BufferPool::attach(Attached buffer) {
  if (buffer.address == nullptr && buffer.bytes > 0)
    return Error(ErrorClass::buffer, "the buffer is a null pointer");
  std::lock_guard lock(mutex_);
  if (buffer_)
    return Error(ErrorClass::buffer,
                 "a buffer is already attached; detach it first (MPI_Buffer_detach)");
  buffer_ = buffer;
  if (buffer.address == MPI_BUFFER_AUTOMATIC) buffer_->bytes = 0;  // not significant (MPI-4.1 §3.6)
  return {};
}

std::optional<BufferPool::Attached> BufferPool::attached() {
  std::lock_guard lock(mutex_);
  return buffer_;
}

base::Status BufferPool::send(const sessions::CommunicatorPtr& comm, const types::ConstBuffer& data,
                              int dest, int tag) {
  std::lock_guard lock(mutex_);
  SHIM_TRY_ASSIGN(p2p::Request * request, begin(comm, data, dest, tag));
  if (request->is_done())
    p2p::Engine::release(request);
  else
    keep(comm, request, buffer_bytes(data));
  return {};
}

base::Result<CopyPtr> BufferPool::send_cancellable(const sessions::CommunicatorPtr& comm,
                                                   const types::ConstBuffer& data, int dest,
                                                   int tag) {
  std::lock_guard lock(mutex_);
  SHIM_TRY_ASSIGN(p2p::Request * request, begin(comm, data, dest, tag));
  return keep(comm, request, buffer_bytes(data));
}

/// Start a copied send if the buffer has space. The caller holds the lock, here and in the next
/// three functions.
base::Result<p2p::Request*> BufferPool::begin(const sessions::CommunicatorPtr& comm,
                                              const types::ConstBuffer& data, int dest, int tag) {
  SHIM_TRY(reserve_bytes(buffer_bytes(data)));
  return comm->engine().isend_copied(comm->context(), data, dest, tag);
}

/// Count the copy against the buffer until it has left.
CopyPtr BufferPool::keep(const sessions::CommunicatorPtr& comm, p2p::Request* request,
                         std::int64_t bytes) {
  CopyPtr copy(request, [](p2p::Request* sent) { p2p::Engine::release(sent); });
  if (request->is_done()) return copy;
  copies_.push_back({++last_number_, bytes, comm, copy});
  used_ += bytes;
  return copy;
}

base::Status BufferPool::reserve_bytes(std::int64_t bytes) {
  if (!buffer_)
    return Error(ErrorClass::buffer,
                 "no buffer is attached for buffered sends (MPI_Buffer_attach)");
  if (bytes > capacity_of(*buffer_) - used_) forget_done();
  if (std::int64_t free_bytes = capacity_of(*buffer_) - used_; bytes > free_bytes)
    return Error(ErrorClass::buffer, "the message needs " + std::to_string(bytes) +
                                         " bytes, but only " + std::to_string(free_bytes) +
                                         " of the " + std::to_string(buffer_->bytes) +
                                         " bytes of the attached buffer are free");
  return {};
}

/// Make progress, and remove the copies that have left.
void BufferPool::forget_done() {
  if (!copies_.empty()) static_cast<void>(copies_.front().comm->engine().progress());
  auto left = std::stable_partition(copies_.begin(), copies_.end(),
                                    [](const Copy& copy) { return !copy.request->is_done(); });
  for (auto copy = left; copy != copies_.end(); ++copy) {
    used_ -= copy->bytes;
    copy->request.reset();  // before its communicator
  }
  copies_.erase(left, copies_.end());
}

bool BufferPool::have_left_locked(std::uint64_t number) {
  return std::all_of(copies_.begin(), copies_.end(), [number](const Copy& copy) {
    return copy.number > number || copy.request->is_done();
  });
}

/// Wait without the lock, so that other threads can send meanwhile.
base::Status BufferPool::flush_locked(std::unique_lock<std::mutex>& lock, std::uint64_t number) {
  for (forget_done(); !have_left_locked(number); forget_done()) {
    sessions::CommunicatorPtr comm = copies_.front().comm;
    lock.unlock();
    p2p::WaitFor subject("buffered messages to leave the buffer");
    auto waited = comm->engine().wait_until([this, number] { return have_left(number); }, subject);
    lock.lock();
    if (!waited) return std::move(waited).error();
  }
  return {};
}

base::Status BufferPool::flush() {
  std::unique_lock lock(mutex_);
  return flush_locked(lock, last_number_);
}

std::uint64_t BufferPool::last_number() {
  std::lock_guard lock(mutex_);
  return last_number_;
}

bool BufferPool::have_left(std::uint64_t number) {
  std::lock_guard lock(mutex_);
  return have_left_locked(number);
}

base::Result<std::optional<BufferPool::Attached>> BufferPool::detach() {
  std::unique_lock lock(mutex_);
  SHIM_TRY(flush_locked(lock, last_number_));
  forget_done();
  return std::exchange(buffer_, std::nullopt);
}

const BufferPoolPtr& process_buffer() {
  // never destroyed: buffered sends may be in flight while the program ends
  static const BufferPoolPtr& pool = *new BufferPoolPtr(std::make_shared<BufferPool>());
  return pool;
}

BufferPoolPtr ObjectBuffers::find(const void* owner) {
  if (count_.load(std::memory_order_relaxed) == 0) return nullptr;
  std::lock_guard lock(mutex_);
  auto at = pools_.find(owner);
  return at != pools_.end() ? at->second : nullptr;
}

BufferPoolPtr ObjectBuffers::find_or_make(const void* owner) {
  std::lock_guard lock(mutex_);
  BufferPoolPtr& pool = pools_[owner];
  if (!pool) pool = std::make_shared<BufferPool>();
  count_.store(pools_.size(), std::memory_order_relaxed);
  return pool;
}

void ObjectBuffers::forget(const void* owner) {
  if (count_.load(std::memory_order_relaxed) == 0) return;
  BufferPoolPtr gone;  // destroyed without the lock: may destroy the communicator
  std::lock_guard lock(mutex_);
  auto at = pools_.find(owner);
  if (at == pools_.end()) return;
  gone = std::move(at->second);
  pools_.erase(at);
  count_.store(pools_.size(), std::memory_order_relaxed);
}

ObjectBuffers& object_buffers() {
  static ObjectBuffers& buffers = *new ObjectBuffers;
  return buffers;
}

BufferPoolPtr buffer_for(const sessions::Communicator& comm) {
  if (auto pool = object_buffers().find(&comm)) return pool;
  if (auto pool = object_buffers().find(comm.session().get())) return pool;
  return process_buffer();
}

std::int64_t buffer_bytes(const types::ConstBuffer& data) noexcept {
  return static_cast<std::int64_t>(data.bytes()) + MPI_BSEND_OVERHEAD;
}

}  // namespace shim::intercept
