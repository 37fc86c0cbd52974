#include "plugin/torch/process_group.h"

#ifdef STOWAGE_HAS_C10D

#include <exception>
#include <string>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>
#include <vector>

namespace stowage::plugin {
namespace {

using StorePtr = c10::intrusive_ptr<c10d::Store>;
using Connected = Result<std::unique_ptr<session::RankStore>>;

/// The first group that a process makes is the default one, and its name counts from 0.
constexpr const char* kDefaultGroup = "0";
/// For what the store itself waits for; our own calls wait for nothing.
constexpr std::chrono::milliseconds kTimeout{2000};

class ClonedStore final : public session::RankStore {
 public:
  explicit ClonedStore(StorePtr store) : store_(std::move(store)) { store_->setTimeout(kTimeout); }

  Status set(const std::string& key, const Value& value) override {
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(value.data());
    store_->set(key, std::vector<std::uint8_t>(begin, begin + value.size()));
    return {};
  }
  Result<std::optional<Value>> get(const std::string& key) override {
    if (!store_->check({key})) return std::optional<Value>();
    const std::vector<std::uint8_t> found = store_->get(key);
    const auto* const begin = reinterpret_cast<const std::byte*>(found.data());
    return std::optional<Value>(std::in_place, begin, begin + found.size());
  }
  Result<std::int64_t> add(const std::string& key, std::int64_t amount) override {
    return store_->add(key, amount);
  }

 private:
  const StorePtr store_;
};

bool is_shareable(const StorePtr& store) {
  if (!store) return false;
  if (auto* const prefixed = dynamic_cast<c10d::PrefixStore*>(store.get()))
    return is_shareable(prefixed->getUnderlyingNonPrefixStore());
  return dynamic_cast<c10d::TCPStore*>(store.get()) != nullptr;
}

}  // namespace

std::optional<session::RankGroup> default_process_group() noexcept try {
  const c10::intrusive_ptr<c10d::ProcessGroup> found = c10d::resolve_process_group(kDefaultGroup);
  if (!found) return std::nullopt;
  const StorePtr store = found->getStore();
  if (!is_shareable(store)) return std::nullopt;
  session::RankGroup group;
  group.rank = static_cast<std::uint64_t>(found->getRank());
  group.size = static_cast<std::uint64_t>(found->getSize());
  // Not to keep the job's own connection, and with it perhaps the server, longer than the job does.
  group.connect = [weak = c10::weak_intrusive_ptr<c10d::Store>(store)]() -> Connected {
    const StorePtr alive = weak.lock();
    if (!alive) return Error{ErrorCode::kNotFound, "the process group is gone"};
    return std::unique_ptr<session::RankStore>(std::make_unique<ClonedStore>(alive->clone()));
  };
  return group;
} catch (const std::exception&) {
  return std::nullopt;  // the registry throws where there is no such group
}

}  // namespace stowage::plugin

#else

namespace stowage::plugin {

std::optional<session::RankGroup> default_process_group() noexcept { return std::nullopt; }

}  // namespace stowage::plugin

#endif
