// OpCall: STOWAGE_VERIFY, the replay of its recipe at once.
#include <string>
#include <vector>

#include "recompute/call/op_call.h"
#include "recompute/verify/call_text.h"

namespace stowage::recompute {

void OpCall::begin_check() {
  if (!machine_.options.verify || !recipe_ || thread_.replaying > 0) return;
  std::vector<StorageRecord*> records;
  for (const Use& use : uses_) records.push_back(use.record);
  verification_->check.begin(*recipe_, records);
}

void OpCall::end_check(c10::ArrayRef<c10::IValue> results) {
  if (!recipe_ || !verification_->check.begun() || recipe_->outputs.empty()) return;
  ++machine_.counters.verified;
  if (const std::optional<std::string> wrong = verification_->check.end(*recipe_, results))
    machine_.findings.add(
        {"a recipe that is replayed at once makes other bits, in " + *wrong + "\n" + text_of(*recipe_),
         *verification_->source});
}

}  // namespace stowage::recompute
