#include "plugin/torch/offloading.h"

#include <memory>
#include <string>
#include <utility>

#include "recompute/recompute.h"
#include "recompute/stores/spill_store.h"
#include "session/settings/notice.h"

namespace stowage::plugin {

void offload_as(const session::Settings& settings) {
  static std::string folder;  // that is used now
  const bool wanted = settings.budget.is_set() || settings.evict.is_set();
  if (!wanted || settings.spill.empty() || settings.spill == folder) return;
  Result<std::unique_ptr<recompute::SpillStore>> store = recompute::SpillStore::open(settings.spill);
  if (!store) return session::warn("STOWAGE_SPILL: " + store.error().message + "; nothing is offloaded");
  if ((*store)->is_in_memory())
    session::warn("STOWAGE_SPILL: " + settings.spill +
                  " lies in memory (tmpfs), so that spilling saves none; name a folder on a disk");
  recompute::Runtime::use_store(0, std::move(*store));
  folder = settings.spill;
}

}  // namespace stowage::plugin
