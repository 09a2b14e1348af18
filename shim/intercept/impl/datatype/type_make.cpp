// SPDX-License-Identifier: BSD-3-Clause
// Implements datatype constructors (MPI-4.1 §5.1.2 to §5.1.10). Used while the substrate is
// inactive, and if an old type is ours. The types get native handles when calls of the substrate
// need them.
// ../datatypes/build.cpp checks the arguments' values.
#include <string>
#include <utility>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/arguments.hpp"
#include "shim/intercept/impl/datatype/type_attributes.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// Writes a constructor's arguments to a TypeContents. Form is the function's form that was called.
enum class Form : std::uint8_t { small, large };
class ContentsWriter {
 public:
  ContentsWriter(int combiner, Form form) : form_(form) { contents_.combiner = combiner; }

  void integer(int value) { contents_.integers.push_back(value); }
  void count(MPI_Count value) {
    if (form_ == Form::large)
      contents_.counts.push_back(value);
    else
      contents_.integers.push_back(static_cast<int>(value));
  }
  void address(MPI_Count value) {
    if (form_ == Form::large)
      contents_.counts.push_back(value);
    else
      contents_.addresses.push_back(static_cast<MPI_Aint>(value));
  }
  /// Write arrays; nothing is read if the number is less than 1.
  void integers(const int* values, MPI_Count number) {
    each(values, number, [this](int value) { integer(value); });
  }
  template <typename Number>
  void counts(const Number* values, MPI_Count number) {
    each(values, number, [this](MPI_Count value) { count(value); });
  }
  template <typename Number>
  void addresses(const Number* values, MPI_Count number) {
    each(values, number, [this](MPI_Count value) { address(value); });
  }
  void types(const MPI_Datatype* values, MPI_Count number) {
    each(values, number, [this](MPI_Datatype value) { type(value); });
  }

  void type(MPI_Datatype old) {
    auto found = old_type_of(old);
    if (found)
      contents_.old_types.push_back(*std::move(found));
    else if (status_)
      status_ = std::move(found).error();
  }

  base::Result<TypeContents> take() {
    SHIM_TRY(std::move(status_));
    return std::move(contents_);
  }

 private:
  template <typename Value, typename WriteValue>
  void each(const Value* values, MPI_Count number, WriteValue write_value) {
    if (number > 0 && values == nullptr && status_)
      status_ = Error(ErrorClass::arg, "an array argument is a null pointer");
    for (MPI_Count i = 0; i < number && values != nullptr; ++i) write_value(values[i]);
  }

  Form form_;
  TypeContents contents_;
  base::Status status_;
};

/// Return the form of the function whose parameters have this type.
template <typename Number>
constexpr Form form_of() {
  return sizeof(Number) == sizeof(int) ? Form::small : Form::large;
}

/// Complete a constructor; `write` writes the arguments in the order of the function's parameters.
template <typename Write>
int make(const char* function, int combiner, Form form, MPI_Datatype* newtype, Write write) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_output(newtype, "datatype"));
    ContentsWriter writer(combiner, form);
    write(writer);
    SHIM_TRY_ASSIGN(TypeContents contents, writer.take());
    DatatypeObject object;
    SHIM_TRY_ASSIGN(object.derived, derive(std::move(contents)));
    SHIM_TRY_ASSIGN(*newtype, objects.datatypes.insert(std::move(object)));
    return {};
  });
}

template <typename C>
int contiguous(const char* function, C count, MPI_Datatype old, MPI_Datatype* made) {
  return make(function, MPI_COMBINER_CONTIGUOUS, form_of<C>(), made, [&](ContentsWriter& to) {
    to.count(count);
    to.type(old);
  });
}

template <typename C>
int vector(const char* function, C count, C length, C stride, MPI_Datatype old,
           MPI_Datatype* made) {
  return make(function, MPI_COMBINER_VECTOR, form_of<C>(), made, [&](ContentsWriter& to) {
    to.count(count);
    to.count(length);
    to.count(stride);
    to.type(old);
  });
}

template <typename C, typename A>
int hvector(const char* function, C count, C length, A stride, MPI_Datatype old,
            MPI_Datatype* made) {
  return make(function, MPI_COMBINER_HVECTOR, form_of<C>(), made, [&](ContentsWriter& to) {
    to.count(count);
    to.count(length);
    to.address(stride);
    to.type(old);
  });
}

template <typename C>
int indexed(const char* function, C count, const C* lengths, const C* displacements,
            MPI_Datatype old, MPI_Datatype* made) {
  return make(function, MPI_COMBINER_INDEXED, form_of<C>(), made, [&](ContentsWriter& to) {
    to.count(count);
    to.counts(lengths, count);
    to.counts(displacements, count);
    to.type(old);
  });
}

template <typename C, typename A>
int hindexed(const char* function, C count, const C* lengths, const A* displacements,
             MPI_Datatype old, MPI_Datatype* made) {
  return make(function, MPI_COMBINER_HINDEXED, form_of<C>(), made, [&](ContentsWriter& to) {
    to.count(count);
    to.counts(lengths, count);
    to.addresses(displacements, count);
    to.type(old);
  });
}

template <typename C>
int indexed_block(const char* function, C count, C length, const C* displacements, MPI_Datatype old,
                  MPI_Datatype* made) {
  return make(function, MPI_COMBINER_INDEXED_BLOCK, form_of<C>(), made, [&](ContentsWriter& to) {
    to.count(count);
    to.count(length);
    to.counts(displacements, count);
    to.type(old);
  });
}

template <typename C, typename A>
int hindexed_block(const char* function, C count, C length, const A* displacements,
                   MPI_Datatype old, MPI_Datatype* made) {
  return make(function, MPI_COMBINER_HINDEXED_BLOCK, form_of<C>(), made, [&](ContentsWriter& to) {
    to.count(count);
    to.count(length);
    to.addresses(displacements, count);
    to.type(old);
  });
}

template <typename C, typename A>
int structure(const char* function, C count, const C* lengths, const A* displacements,
              const MPI_Datatype* olds, MPI_Datatype* made) {
  return make(function, MPI_COMBINER_STRUCT, form_of<C>(), made, [&](ContentsWriter& to) {
    to.count(count);
    to.counts(lengths, count);
    to.addresses(displacements, count);
    to.types(olds, count);
  });
}

template <typename C>
int subarray(const char* function, int dimensions, const C* sizes, const C* parts, const C* starts,
             int order, MPI_Datatype old, MPI_Datatype* made) {
  return make(function, MPI_COMBINER_SUBARRAY, form_of<C>(), made, [&](ContentsWriter& to) {
    to.integer(dimensions);
    for (const C* lengths : {sizes, parts, starts}) to.counts(lengths, dimensions);
    to.integer(order);
    to.type(old);
  });
}

template <typename C>
int darray(const char* function, int size, int rank, int dimensions, const C* sizes,
           const int* distributions, const int* arguments, const int* grid, int order,
           MPI_Datatype old, MPI_Datatype* made) {
  return make(function, MPI_COMBINER_DARRAY, form_of<C>(), made, [&](ContentsWriter& to) {
    for (int value : {size, rank, dimensions}) to.integer(value);
    to.counts(sizes, dimensions);
    for (const int* values : {distributions, arguments, grid}) to.integers(values, dimensions);
    to.integer(order);
    to.type(old);
  });
}

template <typename A>
int resized(const char* function, MPI_Datatype old, A lower, A extent, Form form,
            MPI_Datatype* made) {
  return make(function, MPI_COMBINER_RESIZED, form, made, [&](ContentsWriter& to) {
    to.address(lower);
    to.address(extent);
    to.type(old);
  });
}

}  // namespace

namespace impl {

int Type_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  return contiguous("MPI_Type_contiguous", count, oldtype, newtype);
}
int Type_contiguous_c(MPI_Count count, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  return contiguous("MPI_Type_contiguous_c", count, oldtype, newtype);
}

int Type_vector(int count, int blocklength, int stride, MPI_Datatype oldtype,
                MPI_Datatype* newtype) {
  return vector("MPI_Type_vector", count, blocklength, stride, oldtype, newtype);
}
int Type_vector_c(MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
                  MPI_Datatype* newtype) {
  return vector("MPI_Type_vector_c", count, blocklength, stride, oldtype, newtype);
}

int Type_create_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                        MPI_Datatype* newtype) {
  return hvector("MPI_Type_create_hvector", count, blocklength, stride, oldtype, newtype);
}
int Type_create_hvector_c(MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                          MPI_Datatype oldtype, MPI_Datatype* newtype) {
  return hvector("MPI_Type_create_hvector_c", count, blocklength, stride, oldtype, newtype);
}
int Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                 MPI_Datatype* newtype) {
  return hvector("MPI_Type_hvector", count, blocklength, stride, oldtype, newtype);
}

int Type_indexed(int count, const int lengths[], const int displacements[], MPI_Datatype oldtype,
                 MPI_Datatype* newtype) {
  return indexed("MPI_Type_indexed", count, lengths, displacements, oldtype, newtype);
}
int Type_indexed_c(MPI_Count count, const MPI_Count lengths[], const MPI_Count displacements[],
                   MPI_Datatype oldtype, MPI_Datatype* newtype) {
  return indexed("MPI_Type_indexed_c", count, lengths, displacements, oldtype, newtype);
}

int Type_create_hindexed(int count, const int lengths[], const MPI_Aint displacements[],
                         MPI_Datatype oldtype, MPI_Datatype* newtype) {
  return hindexed("MPI_Type_create_hindexed", count, lengths, displacements, oldtype, newtype);
}
int Type_create_hindexed_c(MPI_Count count, const MPI_Count lengths[],
                           const MPI_Count displacements[], MPI_Datatype oldtype,
                           MPI_Datatype* newtype) {
  return hindexed("MPI_Type_create_hindexed_c", count, lengths, displacements, oldtype, newtype);
}
int Type_hindexed(int count, int lengths[], MPI_Aint displacements[], MPI_Datatype oldtype,
                  MPI_Datatype* newtype) {
  return hindexed("MPI_Type_hindexed", count, lengths, displacements, oldtype, newtype);
}

int Type_create_indexed_block(int count, int length, const int displacements[],
                              MPI_Datatype oldtype, MPI_Datatype* newtype) {
  return indexed_block("MPI_Type_create_indexed_block", count, length, displacements, oldtype,
                       newtype);
}
int Type_create_indexed_block_c(MPI_Count count, MPI_Count length, const MPI_Count displacements[],
                                MPI_Datatype oldtype, MPI_Datatype* newtype) {
  return indexed_block("MPI_Type_create_indexed_block_c", count, length, displacements, oldtype,
                       newtype);
}

int Type_create_hindexed_block(int count, int length, const MPI_Aint displacements[],
                               MPI_Datatype oldtype, MPI_Datatype* newtype) {
  return hindexed_block("MPI_Type_create_hindexed_block", count, length, displacements, oldtype,
                        newtype);
}
int Type_create_hindexed_block_c(MPI_Count count, MPI_Count length, const MPI_Count displacements[],
                                 MPI_Datatype oldtype, MPI_Datatype* newtype) {
  return hindexed_block("MPI_Type_create_hindexed_block_c", count, length, displacements, oldtype,
                        newtype);
}

int Type_create_struct(int count, const int lengths[], const MPI_Aint displacements[],
                       const MPI_Datatype oldtypes[], MPI_Datatype* newtype) {
  return structure("MPI_Type_create_struct", count, lengths, displacements, oldtypes, newtype);
}
int Type_create_struct_c(MPI_Count count, const MPI_Count lengths[],
                         const MPI_Count displacements[], const MPI_Datatype oldtypes[],
                         MPI_Datatype* newtype) {
  return structure("MPI_Type_create_struct_c", count, lengths, displacements, oldtypes, newtype);
}
int Type_struct(int count, int lengths[], MPI_Aint displacements[], MPI_Datatype oldtypes[],
                MPI_Datatype* newtype) {
  return structure("MPI_Type_struct", count, lengths, displacements, oldtypes, newtype);
}

int Type_create_subarray(int ndims, const int sizes[], const int subsizes[], const int starts[],
                         int order, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  return subarray("MPI_Type_create_subarray", ndims, sizes, subsizes, starts, order, oldtype,
                  newtype);
}
int Type_create_subarray_c(int ndims, const MPI_Count sizes[], const MPI_Count subsizes[],
                           const MPI_Count starts[], int order, MPI_Datatype oldtype,
                           MPI_Datatype* newtype) {
  return subarray("MPI_Type_create_subarray_c", ndims, sizes, subsizes, starts, order, oldtype,
                  newtype);
}

int Type_create_darray(int size, int rank, int ndims, const int gsizes[], const int distribs[],
                       const int dargs[], const int psizes[], int order, MPI_Datatype oldtype,
                       MPI_Datatype* newtype) {
  return darray("MPI_Type_create_darray", size, rank, ndims, gsizes, distribs, dargs, psizes, order,
                oldtype, newtype);
}
int Type_create_darray_c(int size, int rank, int ndims, const MPI_Count gsizes[],
                         const int distribs[], const int dargs[], const int psizes[], int order,
                         MPI_Datatype oldtype, MPI_Datatype* newtype) {
  return darray("MPI_Type_create_darray_c", size, rank, ndims, gsizes, distribs, dargs, psizes,
                order, oldtype, newtype);
}

int Type_create_resized(MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent, MPI_Datatype* newtype) {
  return resized("MPI_Type_create_resized", oldtype, lb, extent, Form::small, newtype);
}
int Type_create_resized_c(MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent,
                          MPI_Datatype* newtype) {
  return resized("MPI_Type_create_resized_c", oldtype, lb, extent, Form::large, newtype);
}

/// Duplicate a type; the duplicate is committed if the original is (MPI-4.1 §5.1.10).
int Type_dup(MPI_Datatype oldtype, MPI_Datatype* newtype) {
  const int code = make("MPI_Type_dup", MPI_COMBINER_DUP, Form::small, newtype,
                        [&](ContentsWriter& to) { to.type(oldtype); });
  if (code != MPI_SUCCESS) return code;
  DatatypeObject* original = objects.datatypes.find(oldtype);
  DatatypeObject* copy = objects.datatypes.find(*newtype);
  copy->committed = original == nullptr || original->committed;
  if (original == nullptr || !original->attributes) return code;
  return run_with_handler(Subject(), "MPI_Type_dup", [&] {
    HandleOfCopy made(objects.datatypes, std::exchange(*newtype, abi::predefined.datatype_null));
    auto copied = copy_attributes(owner_of(oldtype, *original), owner_of(made.handle(), *copy));
    if (copied) *newtype = made.keep();
    return copied;
  });
}

}  // namespace impl
}  // namespace shim::intercept
