// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/native/references.hpp"

#include <elf.h>
#include <link.h>

#include <cstdint>

namespace shim::intercept {
namespace {

/// The dynamic symbols of one loaded object.
struct Symbols {
  const ElfW(Sym)* table = nullptr;
  const char* names = nullptr;
  std::uint32_t count = 0;  ///< of those that may be undefined: they come first
};

Symbols symbols_of(const ElfW(Dyn)* dynamic, ElfW(Addr) base) {
  Symbols symbols;
  // The loader has relocated these addresses, but not those of the kernel's own object (the vdso).
  auto at = [base](ElfW(Addr) address) { return address < base ? base + address : address; };
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    const ElfW(Addr) value = at(dynamic->d_un.d_ptr);
    switch (dynamic->d_tag) {
      case DT_SYMTAB: symbols.table = reinterpret_cast<const ElfW(Sym)*>(value); break;
      case DT_STRTAB: symbols.names = reinterpret_cast<const char*>(value); break;
      // the second word of both: where the symbols begin that are defined here, and how many symbols there are
      case DT_GNU_HASH: symbols.count = reinterpret_cast<const std::uint32_t*>(value)[1]; break;
      case DT_HASH:
        if (symbols.count == 0) symbols.count = reinterpret_cast<const std::uint32_t*>(value)[1];
        break;
      default: break;
    }
  }
  return symbols;
}

bool takes(const dl_phdr_info& object, std::string_view function) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* dynamic = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
    const Symbols symbols = symbols_of(dynamic, object.dlpi_addr);
    if (symbols.table == nullptr || symbols.names == nullptr) return false;
    for (std::uint32_t at = 0; at < symbols.count; ++at) {
      const ElfW(Sym)& symbol = symbols.table[at];
      if (symbol.st_shndx == SHN_UNDEF && function == symbols.names + symbol.st_name) return true;
    }
  }
  return false;
}

struct Search {
  std::string_view function;
  bool found = false;
};

}  // namespace

bool program_refers_to(std::string_view function) {
  Search search{function};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        wanted.found = takes(*object, wanted.function);
        return wanted.found ? 1 : 0;
      },
      &search);
  return search.found;
}

}  // namespace shim::intercept
