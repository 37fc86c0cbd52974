#include "simulator/stand_ins/cupti/callbacks.h"

#include <algorithm>
#include <iterator>

#include "simulator/stand_ins/cupti/api_names.h"

namespace stowage::simulator {
namespace {

template <class Table>
const char* name_in(const Table& table, std::uint32_t id) {
  const auto* const found =
      std::find_if(std::begin(table), std::end(table), [&](const auto& row) { return row.first == id; });
  return found == std::end(table) ? nullptr : found->second;
}

}  // namespace

const char* function_name(ApiDomain domain, std::uint32_t id) {
  return domain == ApiDomain::kDriver ? name_in(kDriverFunctions, id) : name_in(kRuntimeFunctions, id);
}

bool Callbacks::subscribe(CUpti_CallbackFunc function, void* user) {
  const std::lock_guard lock(mutex_);
  if (subscribed_) return false;
  subscribed_ = true;
  function_ = function;
  user_ = user;
  return true;
}

void Callbacks::unsubscribe() {
  const std::lock_guard lock(mutex_);
  subscribed_ = false;
  function_ = nullptr;
  wanted_.clear();
  any_.store(false);
}

void Callbacks::enable(ApiDomain domain, std::uint32_t id, bool enabled) {
  const std::lock_guard lock(mutex_);
  enabled ? void(wanted_.insert({domain, id})) : void(wanted_.erase({domain, id}));
  any_.store(function_ != nullptr && !wanted_.empty());
}

void Callbacks::enable(ApiDomain domain, bool enabled) {
  const auto all = [&](const auto& table) {
    for (const auto& row : table) enable(domain, row.first, enabled);
  };
  domain == ApiDomain::kDriver ? all(kDriverFunctions) : all(kRuntimeFunctions);
}

void Callbacks::tell(const ApiCall& call, CUpti_ApiCallbackSite site) {
  CUpti_CallbackFunc function = nullptr;
  void* user = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!wanted_.contains({call.domain, call.id})) return;
    function = function_;
    user = user_;
  }
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.functionName = call.name;
  data.correlationId = call.correlation;
  function(user, static_cast<CUpti_CallbackDomain>(call.domain), call.id, &data);
}

}  // namespace stowage::simulator
