// Memory for the many small arrays of a parsed module, freed with the module at once.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_PTX_ARENA_H
#define GIRIH_EMULATOR_PTX_ARENA_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace girih::emu::ptx {

class Arena {
public:
  /// Copies `values`; the copy lives as long as the arena.
  template <typename T> std::span<T> copy(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    if (values.empty())
      return {};
    T *to = static_cast<T *>(take(values.size_bytes(), alignof(T)));
    std::uninitialized_copy(values.begin(), values.end(), to);
    return {to, values.size()};
  }
  std::string_view copy(std::string_view text) {
    std::span<char> to = copy(std::span<const char>(text.data(), text.size()));
    return {to.data(), to.size()};
  }

private:
  static constexpr size_t kBlock = size_t(1) << 16;
  void *take(size_t bytes, size_t alignment) {
    used = (used + alignment - 1) / alignment * alignment;
    if (blocks.empty() || used + bytes > size) {
      size = std::max(kBlock, bytes);
      blocks.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
      used = 0;
    }
    void *result = blocks.back().get() + used;
    used += bytes;
    return result;
  }
  std::vector<std::unique_ptr<std::byte[]>> blocks;
  size_t used = 0, size = 0;
};

} // namespace girih::emu::ptx

#endif // GIRIH_EMULATOR_PTX_ARENA_H
