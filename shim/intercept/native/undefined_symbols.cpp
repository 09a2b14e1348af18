// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/native/undefined_symbols.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <optional>
#include <span>

namespace shim::intercept {
namespace {

/// The dynamic section of a loaded object, elf(5).
class DynamicSection {
 public:
  DynamicSection(const ElfW(Dyn) * entries, ElfW(Addr) base) : entries_(entries), base_(base) {}

  /// Return the value of the entry with this tag; 0 if there is none.
  ElfW(Addr) value_of(ElfW(Sxword) tag) const {
    for (const ElfW(Dyn)* entry = entries_; entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == tag) return entry->d_un.d_ptr;
    return 0;
  }
  /// Return the address in the entry with this tag; null if there is none.
  template <typename T>
  const T* address_of(ElfW(Sxword) tag) const {
    const ElfW(Addr) value = value_of(tag);
    // the loader has relocated these addresses, except in the kernel's object (the vdso)
    const bool is_relocated = value == 0 || value >= base_;
    return reinterpret_cast<const T*>(is_relocated ? value : base_ + value);
  }
  /// Return the table of relocations in the entry `tag`, whose size is in the entry `size_tag`.
  template <typename Relocation>
  std::span<const Relocation> relocations(ElfW(Sxword) tag, ElfW(Sxword) size_tag) const {
    const auto* const table = address_of<Relocation>(tag);
    if (table == nullptr) return {};
    return {table, value_of(size_tag) / sizeof(Relocation)};
  }

 private:
  const ElfW(Dyn) * entries_;
  const ElfW(Addr) base_;
};

/// True if a relocation of the object names the function. Relocations are searched because the
/// number of an object's undefined symbols is not in memory: hash tables have defined symbols only.
bool refers_to(const DynamicSection& object, std::string_view function) {
  const auto* const symbols = object.address_of<ElfW(Sym)>(DT_SYMTAB);
  const auto* const names = object.address_of<char>(DT_STRTAB);
  if (symbols == nullptr || names == nullptr) return false;
  const auto names_function = [&](const auto& relocation) {
    const ElfW(Sym)& symbol = symbols[ELF64_R_SYM(relocation.r_info)];
    return symbol.st_shndx == SHN_UNDEF && function == names + symbol.st_name;
  };
  const auto any_names_function = [&](const auto& table) {
    return std::ranges::any_of(table, names_function);
  };
  return any_names_function(object.relocations<ElfW(Rela)>(DT_RELA, DT_RELASZ)) ||
         any_names_function(object.relocations<ElfW(Rel)>(DT_REL, DT_RELSZ)) ||
         (object.value_of(DT_PLTREL) == DT_RELA
              ? any_names_function(object.relocations<ElfW(Rela)>(DT_JMPREL, DT_PLTRELSZ))
              : any_names_function(object.relocations<ElfW(Rel)>(DT_JMPREL, DT_PLTRELSZ)));
}

std::optional<DynamicSection> dynamic_section(const dl_phdr_info& object) {
  const std::span headers(object.dlpi_phdr, object.dlpi_phnum);
  const auto dynamic = std::ranges::find(headers, PT_DYNAMIC, &ElfW(Phdr)::p_type);
  if (dynamic == headers.end()) return std::nullopt;
  const auto* const entries = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr +
                                                                 dynamic->p_vaddr);
  return DynamicSection(entries, object.dlpi_addr);
}

bool refers_to(const dl_phdr_info& object, std::string_view function) {
  const auto section = dynamic_section(object);
  return section && refers_to(*section, function);
}

bool contains(const dl_phdr_info& object, const void* code) {
  const auto address = reinterpret_cast<ElfW(Addr)>(code);
  return std::ranges::any_of(std::span(object.dlpi_phdr, object.dlpi_phnum), [&](const auto& part) {
    const ElfW(Addr) begin = object.dlpi_addr + part.p_vaddr;
    return part.p_type == PT_LOAD && address >= begin && address - begin < part.p_memsz;
  });
}

/// Return what the loader has stored for the first relocation of this table that names the symbol:
/// the symbol's address, in an entry of the global offset table.
template <typename Relocation>
const void* bound_address(const DynamicSection& object, ElfW(Addr) base,
                          std::span<const Relocation> table, std::string_view symbol) {
  const auto* const symbols = object.address_of<ElfW(Sym)>(DT_SYMTAB);
  const auto* const names = object.address_of<char>(DT_STRTAB);
  for (const Relocation& relocation : table) {
    const ElfW(Sym)& named = symbols[ELF64_R_SYM(relocation.r_info)];
    if (named.st_shndx == SHN_UNDEF && symbol == names + named.st_name)
      return *reinterpret_cast<void* const*>(base + relocation.r_offset);
  }
  return nullptr;
}

const void* bound_address(const dl_phdr_info& object, std::string_view symbol) {
  const auto section = dynamic_section(object);
  if (!section) return nullptr;
  const ElfW(Addr) base = object.dlpi_addr;
  if (const void* found = bound_address(
          *section, base, section->relocations<ElfW(Rela)>(DT_RELA, DT_RELASZ), symbol))
    return found;
  return bound_address(*section, base, section->relocations<ElfW(Rel)>(DT_REL, DT_RELSZ), symbol);
}

struct BindingSearch {
  const void* code;
  std::string_view symbol;
  const void* found = nullptr;
};

struct SymbolSearch {
  std::string_view function;
  bool found = false;
};

}  // namespace

bool program_refers_to(std::string_view function) {
  SymbolSearch search{function};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto& wanted = *static_cast<SymbolSearch*>(data);
        wanted.found = refers_to(*object, wanted.function);
        return wanted.found ? 1 : 0;
      },
      &search);
  return search.found;
}

const void* address_bound_in(const void* code, std::string_view symbol) {
  BindingSearch search{code, symbol};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto& wanted = *static_cast<BindingSearch*>(data);
        if (!contains(*object, wanted.code)) return 0;
        wanted.found = bound_address(*object, wanted.symbol);
        return 1;
      },
      &search);
  return search.found;
}

}  // namespace shim::intercept
