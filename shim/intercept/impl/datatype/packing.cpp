// SPDX-License-Identifier: BSD-3-Clause
// Implements explicit packing (MPI-4.1 §5.2, §5.3). Packed for a communicator of ours, data is
// stored without holes: receiving it as MPI_PACKED equals sending it with its type.
#include <cstring>
#include <string>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/comm_arguments.hpp"
#include "shim/types/external.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// A buffer of packed data and the position in it.
template <typename Address, typename Number, typename Position>
struct PackBuffer {
  Address address;
  Number size;
  Position* position;

  /// Return the next `bytes` bytes. Errors: arg (position), truncate (fewer are left), buffer.
  auto next(std::uint64_t bytes) const
      -> base::Result<std::span<std::conditional_t<std::is_const_v<std::remove_pointer_t<Address>>,
                                                   const std::byte, std::byte>>> {
    using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<Address>>,
                                    const std::byte, std::byte>;
    SHIM_TRY(check_output(position, "position"));
    if (size < 0)
      return Error(ErrorClass::arg,
                   "the size " + std::to_string(size) + " of the packed buffer is negative");
    if (*position < 0 || *position > size)
      return Error(ErrorClass::arg, "the position " + std::to_string(*position) +
                                        " is outside the packed buffer of " + std::to_string(size) +
                                        " bytes");
    const auto left = static_cast<std::uint64_t>(size - *position);
    if (left < bytes)
      return Error(ErrorClass::truncate, "the data needs " + std::to_string(bytes) +
                                             " bytes, but only " + std::to_string(left) +
                                             " bytes of the packed buffer are left");
    SHIM_TRY(check_address(address, bytes > 0));
    return std::span(static_cast<Byte*>(address) + *position, static_cast<std::size_t>(bytes));
  }
  void advance(std::uint64_t bytes) const { *position += static_cast<Position>(bytes); }
};
template <typename A, typename N, typename P>
PackBuffer(A, N, P*) -> PackBuffer<A, N, P>;

template <typename Packed>
int pack(const char* function, const void* address, Count count, MPI_Datatype datatype,
         const Packed& packed, MPI_Comm comm) {
  return run_with_handler(Subject::comm(comm), function, [&]() -> base::Status {
    SHIM_TRY(get_comm(comm));
    types::ConstBuffer items;
    SHIM_TRY(get_buffer(items, address, count, datatype));
    SHIM_TRY_ASSIGN(auto out, packed.next(items.bytes()));
    types::pack(*items.type, items.address, 0, out);
    packed.advance(out.size());
    return {};
  });
}

template <typename Packed>
int unpack(const char* function, const Packed& packed, void* address, Count count,
           MPI_Datatype datatype, MPI_Comm comm) {
  return run_with_handler(Subject::comm(comm), function, [&]() -> base::Status {
    SHIM_TRY(get_comm(comm));
    types::Buffer items;
    SHIM_TRY(get_buffer(items, address, count, datatype));
    SHIM_TRY_ASSIGN(auto in, packed.next(items.bytes()));
    types::unpack(*items.type, in, 0, items.address);
    packed.advance(in.size());
    return {};
  });
}

template <typename Number>
int pack_size(const char* function, Count count, MPI_Datatype datatype, MPI_Comm comm,
              Number* size) {
  return run_with_handler(Subject::comm(comm), function, [&]() -> base::Status {
    SHIM_TRY(get_comm(comm));
    if (count < 0) return slow::bad_count(count, "count");
    SHIM_TRY_ASSIGN(const types::Type* type, any_type(datatype));
    SHIM_TRY(check_output(size, "size"));
    store_or_undefined(static_cast<std::uint64_t>(count) * type->size, size);
    return {};
  });
}

base::Status check_representation(const char* name) {
  if (name != nullptr && std::strcmp(name, "external32") == 0) return {};
  return Error(ErrorClass::arg, "the data representation \"" +
                                    std::string(name != nullptr ? name : "") +
                                    "\" is not external32");
}

template <typename Packed>
int pack_external(const char* function, const char* representation, const void* address,
                  Count count, MPI_Datatype datatype, const Packed& packed) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_representation(representation));
    types::ConstBuffer items;
    SHIM_TRY(get_buffer(items, address, count, datatype));
    SHIM_TRY_ASSIGN(auto out, packed.next(types::external_size(*items.type, items.count)));
    SHIM_TRY(types::pack_external(*items.type, items.address, items.count, out));
    packed.advance(out.size());
    return {};
  });
}

template <typename Packed>
int unpack_external(const char* function, const char* representation, const Packed& packed,
                    void* address, Count count, MPI_Datatype datatype) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_representation(representation));
    types::Buffer items;
    SHIM_TRY(get_buffer(items, address, count, datatype));
    SHIM_TRY_ASSIGN(auto in, packed.next(types::external_size(*items.type, items.count)));
    SHIM_TRY(types::unpack_external(*items.type, in, items.address, items.count));
    packed.advance(in.size());
    return {};
  });
}

template <typename Number>
int external_size(const char* function, const char* representation, Count count,
                  MPI_Datatype datatype, Number* size) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_representation(representation));
    if (count < 0) return slow::bad_count(count, "count");
    SHIM_TRY_ASSIGN(const types::Type* type, any_type(datatype));
    SHIM_TRY(check_output(size, "size"));
    store_or_undefined(types::external_size(*type, static_cast<std::uint64_t>(count)), size);
    return {};
  });
}

}  // namespace

namespace impl {

int Pack(const void* inbuf, int incount, MPI_Datatype datatype, void* outbuf, int outsize,
         int* position, MPI_Comm comm) {
  return pack("MPI_Pack", inbuf, incount, datatype, PackBuffer{outbuf, outsize, position}, comm);
}
int Pack_c(const void* inbuf, MPI_Count incount, MPI_Datatype datatype, void* outbuf,
           MPI_Count outsize, MPI_Count* position, MPI_Comm comm) {
  return pack("MPI_Pack_c", inbuf, incount, datatype, PackBuffer{outbuf, outsize, position}, comm);
}
int Unpack(const void* inbuf, int insize, int* position, void* outbuf, int outcount,
           MPI_Datatype datatype, MPI_Comm comm) {
  return unpack("MPI_Unpack", PackBuffer{inbuf, insize, position}, outbuf, outcount, datatype,
                comm);
}
int Unpack_c(const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf,
             MPI_Count outcount, MPI_Datatype datatype, MPI_Comm comm) {
  return unpack("MPI_Unpack_c", PackBuffer{inbuf, insize, position}, outbuf, outcount, datatype,
                comm);
}
int Pack_size(int incount, MPI_Datatype datatype, MPI_Comm comm, int* size) {
  return pack_size("MPI_Pack_size", incount, datatype, comm, size);
}
int Pack_size_c(MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm, MPI_Count* size) {
  return pack_size("MPI_Pack_size_c", incount, datatype, comm, size);
}

int Pack_external(const char* datarep, const void* inbuf, int incount, MPI_Datatype datatype,
                  void* outbuf, MPI_Aint outsize, MPI_Aint* position) {
  return pack_external("MPI_Pack_external", datarep, inbuf, incount, datatype,
                       PackBuffer{outbuf, outsize, position});
}
int Pack_external_c(const char* datarep, const void* inbuf, MPI_Count incount,
                    MPI_Datatype datatype, void* outbuf, MPI_Count outsize, MPI_Count* position) {
  return pack_external("MPI_Pack_external_c", datarep, inbuf, incount, datatype,
                       PackBuffer{outbuf, outsize, position});
}
int Unpack_external(const char* datarep, const void* inbuf, MPI_Aint insize, MPI_Aint* position,
                    void* outbuf, int outcount, MPI_Datatype datatype) {
  return unpack_external("MPI_Unpack_external", datarep, PackBuffer{inbuf, insize, position},
                         outbuf, outcount, datatype);
}
int Unpack_external_c(const char* datarep, const void* inbuf, MPI_Count insize, MPI_Count* position,
                      void* outbuf, MPI_Count outcount, MPI_Datatype datatype) {
  return unpack_external("MPI_Unpack_external_c", datarep, PackBuffer{inbuf, insize, position},
                         outbuf, outcount, datatype);
}
int Pack_external_size(const char* datarep, int incount, MPI_Datatype datatype, MPI_Aint* size) {
  return external_size("MPI_Pack_external_size", datarep, incount, datatype, size);
}
int Pack_external_size_c(const char* datarep, MPI_Count incount, MPI_Datatype datatype,
                         MPI_Count* size) {
  return external_size("MPI_Pack_external_size_c", datarep, incount, datatype, size);
}

}  // namespace impl
}  // namespace shim::intercept
