#include "plugin/cuda/adaptor/out_of_memory.h"

#include <c10/core/Allocator.h>

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

std::string with_users_fraction(std::string message, Bytes allowed) {
  constexpr std::string_view kAllowed = " allowed; ";
  constexpr std::string_view kSentence = ". ";
  const std::size_t end = message.find(kAllowed);
  const std::size_t before = end == std::string::npos ? end : message.rfind(kSentence, end);
  if (before == std::string::npos) return message;
  const std::size_t begin = before + kSentence.size();
  return message.replace(begin, end + kAllowed.size() - begin,
                         c10::CachingAllocator::format_size(allowed.value()) + " allowed, with the arena; ");
}

}  // namespace stowage::plugin
