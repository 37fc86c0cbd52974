#include "session/registry.h"

#include <algorithm>
#include <mutex>

#include "core/support/fork.h"
#include "session/session.h"

namespace stowage::session {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<Session*> sessions;
};

Registry& registry() {
  static auto* instance = new Registry;
  return *instance;
}

// Holds the registry's lock over the fork, so that the child's list is consistent.
void before_fork(void*) { registry().mutex.lock(); }
void in_parent(void*) { registry().mutex.unlock(); }
void in_child(void*) {
  for (Session* session : registry().sessions) session->after_fork();
  registry().mutex.unlock();
}

}  // namespace

void add_session(Session* session) {
  handle_forks(ForkRank::kLeaf, {&before_fork, &in_parent, &in_child, &registry()});
  const std::lock_guard lock(registry().mutex);
  registry().sessions.push_back(session);
}

void remove_session(Session* session) {
  const std::lock_guard lock(registry().mutex);
  std::erase(registry().sessions, session);
}

std::vector<Session*> all_sessions() {
  const std::lock_guard lock(registry().mutex);
  return registry().sessions;
}

std::vector<Session*> present_sessions() {
  std::vector<Session*> present;
  for (Session* session : all_sessions()) {
    const auto before = std::find_if(present.begin(), present.end(), [&](const Session* other) {
      return other->info().device == session->info().device;
    });
    if (before == present.end()) {
      present.push_back(session);
    } else {
      *before = session;
    }
  }
  return present;
}

}  // namespace stowage::session
