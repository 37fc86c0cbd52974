// The functions of CUPTI that the tracer calls, found in the process at run time.
//
// No header of CUPTI is needed and nothing is linked: PyTorch's wheel brings the library and loads it with
// torch. A second copy is never loaded. Functions that are missing are null, and those that Stowage cannot do
// without make find() fail.
//
// Thread safety: find() from any thread; the result is constant. Nothing in CUPTI may be called before the
// process has a CUDA device: some versions crash without a driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/result.h"

namespace stowage::tracer::cupti {

/// As CUPTI's functions answer.
using CuptiResult = int;
inline constexpr CuptiResult kSuccess = 0;
inline constexpr CuptiResult kMaxLimitReached = 12;  ///< GetNextRecord: no record is left

using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records);
using BufferCompleted = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes,
                                 std::size_t valid);

struct Library {
  CuptiResult (*get_version)(std::uint32_t* version) = nullptr;
  CuptiResult (*get_result_string)(CuptiResult result, const char** text) = nullptr;
  CuptiResult (*get_timestamp)(std::uint64_t* ns) = nullptr;
  CuptiResult (*enable)(std::uint32_t kind) = nullptr;
  CuptiResult (*disable)(std::uint32_t kind) = nullptr;
  CuptiResult (*register_callbacks)(BufferRequested requested, BufferCompleted completed) = nullptr;
  CuptiResult (*get_next_record)(std::uint8_t* buffer, std::size_t valid, void** record) = nullptr;
  CuptiResult (*get_dropped)(void* context, std::uint32_t stream, std::size_t* dropped) = nullptr;
  CuptiResult (*flush_all)(std::uint32_t flag) = nullptr;
  CuptiResult (*push)(std::uint32_t kind, std::uint64_t id) = nullptr;
  CuptiResult (*pop)(std::uint32_t kind, std::uint64_t* last) = nullptr;
  // Those that may be missing.
  CuptiResult (*set_attribute)(int attribute, std::size_t* bytes, void* value) = nullptr;
  CuptiResult (*get_callback_name)(int domain, std::uint32_t cbid, const char** name) = nullptr;
  CuptiResult (*finalize)() = nullptr;

  /// The library of this process: the one that is loaded, by preloading it or by torch; else that of the
  /// CUDA toolkit. Error: kUnsupported, saying what was looked for.
  static Result<Library> find();
  /// All that Stowage cannot do without is there.
  [[nodiscard]] bool is_complete() const;
  /// What a failed call says, such as "cuptiActivityEnable: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)".
  [[nodiscard]] std::string describe(const char* call, CuptiResult result) const;
};

}  // namespace stowage::tracer::cupti
