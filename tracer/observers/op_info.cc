#include "tracer/observers/op_info.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>

#include <algorithm>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "core/support/fork.h"
#include "core/trace.h"

namespace stowage::tracer {
namespace {

std::string full_name(std::string_view name, std::string_view overload) {
  std::string full(name);
  if (!overload.empty()) full.append(".").append(overload);
  return full;
}

std::uint64_t written_arguments(const c10::FunctionSchema& schema) {
  std::uint64_t written = 0;
  const std::size_t count = std::min<std::size_t>(schema.arguments().size(), 64);
  for (std::size_t i = 0; i < count; ++i) {
    const c10::AliasInfo* alias = schema.arguments()[i].alias_info();
    if (alias != nullptr && alias->isWrite()) written |= std::uint64_t{1} << i;
  }
  return written;
}

std::uint32_t tag_flags(const c10::OperatorName& name) {
  const auto handle = c10::Dispatcher::singleton().findSchema(name);
  if (!handle) return 0;
  std::uint32_t flags = 0;
  if (handle->hasTag(at::Tag::nondeterministic_seeded)) flags |= kOpRandom;
  if (handle->hasTag(at::Tag::nondeterministic_bitwise)) flags |= kOpNondeterministic;
  return flags;
}

const OpInfo* make_info(const at::RecordFunction& call) {
  const auto schema = call.operator_schema();
  if (!schema) return nullptr;
  auto* const info = new OpInfo;
  info->name = full_name(schema->name(), schema->overload_name());
  info->written = written_arguments(*schema);
  info->flags = tag_flags(schema->operator_name());
  if (info->written != 0) info->flags |= kOpInPlace;
  return info;
}

// Whether a remembered operator is really the one called: the same address can hold another name later.
bool is_same(const OpInfo& info, std::string_view name, std::string_view overload) {
  const std::string_view full = info.name;
  if (!full.starts_with(name)) return false;
  if (overload.empty()) return full.size() == name.size();
  return full.size() == name.size() + 1 + overload.size() && full.ends_with(overload);
}

struct Known {
  std::mutex mutex;
  std::unordered_map<std::string, const OpInfo*> by_name;
};

// Every thread asks here once per operator; an operator's info is made once per process.
const OpInfo* shared_info_of(const at::RecordFunction& call) {
  static auto* const known = [] {
    auto* const made = new Known;
    hold_over_forks(made->mutex);
    return made;
  }();
  const std::lock_guard<std::mutex> lock(known->mutex);
  const OpInfo*& info = known->by_name[full_name(call.name(), call.overload_name())];
  if (info == nullptr) info = make_info(call);
  return info;
}

}  // namespace

const OpInfo* op_info_of(const at::RecordFunction& call) {
  // Keyed by the address of the schema's own name, so that the usual look-up hashes a pointer. Scopes that
  // are no operators have names of their own that come and go; they are never entered.
  thread_local std::unordered_map<const char*, const OpInfo*> mine;
  const char* const name = call.name();
  const auto found = mine.find(name);
  if (found != mine.end() && is_same(*found->second, name, call.overload_name())) return found->second;
  if (!call.operator_name()) return nullptr;
  const OpInfo* const info = shared_info_of(call);
  if (info != nullptr) mine[name] = info;
  return info;
}

}  // namespace stowage::tracer
