// Runs a planning function so that no exception leaves the planner.
//
// Thread safety: as of `work`.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "core/result.h"

namespace stowage::planner {

/// What `work` returns. Errors besides: kOutOfMemory (host), kInternal.
template <class Made, class Work>
Result<Made> guarded_planning(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kOutOfMemory, "the planner ran out of host memory"};
  } catch (const std::exception& error) {
    return Error{ErrorCode::kInternal, std::string("the planner failed: ") + error.what()};
  }
}

}  // namespace stowage::planner
