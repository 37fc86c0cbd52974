#include "plugin/registry.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>

#include "plugin/session.h"

namespace stowage::plugin {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<Session*> sessions;
};

Registry& registry() {
  static auto* instance = new Registry;
  return *instance;
}

// The registry is held over the fork, so that the child finds its list whole.
void before_fork() { registry().mutex.lock(); }
void in_parent() { registry().mutex.unlock(); }
void in_child() {
  for (Session* session : registry().sessions) session->after_fork();
  registry().mutex.unlock();
}

}  // namespace

void add_session(Session* session) {
  static std::once_flag once;
  std::call_once(once, [] {
    registry();
    pthread_atfork(before_fork, in_parent, in_child);
  });
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

}  // namespace stowage::plugin
