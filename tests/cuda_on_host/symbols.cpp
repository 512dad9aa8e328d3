#include <cxxabi.h>
#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include "stand_in.hpp"

namespace {

/// An anchor: its address tells where the program's code was loaded.
extern "C" void pptrain_symbols_anchor() {}

using Names = std::map<const void*, std::string>;

std::string bytes_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class T>
const T* part(const std::string& bytes, std::size_t at) {
  return reinterpret_cast<const T*>(bytes.data() + at);
}

/// Calls f(name, address) for the functions in the symbol table of an ELF file.
template <class F>
void for_each_function(const std::string& bytes, const F& f) {
  const auto* header = part<Elf64_Ehdr>(bytes, 0);
  const auto* sections = part<Elf64_Shdr>(bytes, header->e_shoff);
  for (unsigned s = 0; s < header->e_shnum; ++s) {
    if (sections[s].sh_type != SHT_SYMTAB) continue;
    const char* names = bytes.data() + sections[sections[s].sh_link].sh_offset;
    const auto* symbols = part<Elf64_Sym>(bytes, sections[s].sh_offset);
    for (std::size_t i = 0; i < sections[s].sh_size / sizeof(Elf64_Sym); ++i) {
      if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC)
        f(names + symbols[i].st_name, symbols[i].st_value);
    }
  }
}

Names read_names() {
  const std::string bytes = bytes_of("/proc/self/exe");
  std::uint64_t anchor = 0;
  for_each_function(bytes, [&](const char* name, std::uint64_t address) {
    if (std::strcmp(name, "pptrain_symbols_anchor") == 0) anchor = address;
  });
  const auto loaded = reinterpret_cast<std::uint64_t>(&pptrain_symbols_anchor);
  Names names;
  for_each_function(bytes, [&](const char* name, std::uint64_t address) {
    names[reinterpret_cast<const void*>(address - anchor + loaded)] = name;
  });
  return names;
}

}  // namespace

namespace cuda_on_host {

std::string demangled(const std::string& symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : symbol;
  std::free(text);
  return name;
}

std::string function_name(const void* function) {
  static const auto* names = new Names(read_names());
  const auto found = names->find(function);
  return found == names->end() ? "" : demangled(found->second);
}

}  // namespace cuda_on_host
