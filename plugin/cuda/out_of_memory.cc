#include "plugin/cuda/out_of_memory.h"

#include <string_view>

namespace stowage::plugin {

std::string without_known_advice(std::string message) {
  constexpr std::string_view kBegin = "If reserved but unallocated memory is large try setting ";
  constexpr std::string_view kEnd = "expandable_segments:True to avoid fragmentation.";
  const std::size_t begin = message.find(kBegin);
  const std::size_t end = begin == std::string::npos ? begin : message.find(kEnd, begin);
  if (end == std::string::npos) return message;
  std::size_t after = end + kEnd.size();
  while (after < message.size() && message[after] == ' ') ++after;
  return message.erase(begin, after - begin);
}

}  // namespace stowage::plugin
