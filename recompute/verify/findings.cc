#include "recompute/verify/findings.h"

#include <exception>
#include <utility>

namespace stowage::recompute {

void Findings::tell_with(Tell tell) { tell_ = std::move(tell); }

void Findings::add(Finding finding) {
  if (finding.wrong && wrong_.fetch_add(1, std::memory_order_relaxed) > 0) return;
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(finding));
  pending_.store(true, std::memory_order_relaxed);
}

void Findings::tell_waiting() noexcept try {
  std::vector<Finding> told;
  {
    const std::lock_guard lock(mutex_);
    told.swap(waiting_);
    pending_.store(false, std::memory_order_relaxed);
  }
  if (!tell_) return;
  for (Finding& finding : told) {
    const std::string line = finding.source.text();
    tell_(line.empty() ? finding.text : finding.text + "\n  source      " + line, finding.wrong);
  }
} catch (const std::exception&) {  // no memory for a message; the count stays
}

}  // namespace stowage::recompute
