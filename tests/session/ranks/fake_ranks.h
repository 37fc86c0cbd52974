// Ranks of a job without torch: a store in memory that all of them reach, and what can go wrong with it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "session/ports/rank_group.h"

namespace stowage::session {

/// What all ranks see.
class FakeServer {
 public:
  using Value = RankStore::Value;
  void set(const std::string& key, const Value& value) {
    const std::lock_guard lock(mutex_);
    values_[key] = value;
  }
  std::optional<Value> get(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(key);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  std::int64_t add(const std::string& key, std::int64_t amount) {
    const std::lock_guard lock(mutex_);
    return sums_[key] += amount;
  }
  std::map<std::string, Value> values() {
    const std::lock_guard lock(mutex_);
    return values_;
  }

  /// Calls hang from now on until they are let go, which the end of the server does.
  void hang() { hangs_ = true; }
  void let_go() {
    const std::lock_guard lock(mutex_);
    hangs_ = false;
    released_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    released_.wait(lock, [this] { return !hangs_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable released_;
  std::atomic<bool> hangs_{false};
  std::map<std::string, Value> values_;
  std::map<std::string, std::int64_t> sums_;
};

/// Which calls throw: kNever, or from the n-th one on, counted from 0.
constexpr int kNever = 1 << 30;

class FakeStore final : public RankStore {
 public:
  FakeStore(std::shared_ptr<FakeServer> server, int throws_from)
      : server_(std::move(server)), left_(throws_from) {}
  Status set(const std::string& key, const Value& value) override {
    begin();
    server_->set(key, value);
    return {};
  }
  Result<std::optional<Value>> get(const std::string& key) override {
    begin();
    return server_->get(key);
  }
  Result<std::int64_t> add(const std::string& key, std::int64_t amount) override {
    begin();
    return server_->add(key, amount);
  }

 private:
  void begin() {
    server_->pass();
    if (left_-- <= 0) throw std::runtime_error("connection reset by peer");
  }
  std::shared_ptr<FakeServer> server_;
  int left_;
};

inline RankGroup fake_group(const std::shared_ptr<FakeServer>& server, std::uint64_t rank, std::uint64_t size,
                            int throws_from = kNever) {
  RankGroup group;
  group.rank = rank;
  group.size = size;
  group.connect = [server, throws_from]() -> Result<std::unique_ptr<RankStore>> {
    server->pass();
    return std::unique_ptr<RankStore>(std::make_unique<FakeStore>(server, throws_from));
  };
  return group;
}

}  // namespace stowage::session
