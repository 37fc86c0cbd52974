// A CUPTI for tests, as a Library: what it was asked, what it answers, and records that a test delivers.
//
// It keeps its own list of sizes by kind, as the real one does, so that records of any version can be read.
// There is one at a time, since the library's functions know no object. Thread safety: any thread, after the
// test has set it up.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/tracer/cupti/record_bytes.h"
#include "tracer/cupti/records/library.h"

namespace stowage::tracer::cupti::testing {

class FakeCupti {
 public:
  FakeCupti();
  ~FakeCupti();
  FakeCupti(const FakeCupti&) = delete;
  FakeCupti& operator=(const FakeCupti&) = delete;

  [[nodiscard]] Library library() const;

  /// Puts records into buffers of whoever registered callbacks; they are delivered at the next flush.
  void write(const std::vector<Bytes>& records);
  /// As write(), and returns the buffer at once, on the calling thread.
  void deliver(const std::vector<Bytes>& records);
  /// As if another client had registered its own callbacks.
  void take_over() { others_ = true; }

  // What it answers.
  std::uint32_t version = 130'001;
  std::map<std::string, CuptiResult> answers;           ///< by function; success where there is none
  std::map<std::uint32_t, CuptiResult> enable_answers;  ///< by kind
  std::atomic<std::uint64_t> time{1'000};               ///< what get_timestamp says
  std::size_t dropped = 0;
  std::size_t kernel_size = 216;
  std::vector<std::vector<Bytes>> at_flush;  ///< written, one element at each further flush

  // What it was asked.
  std::set<std::uint32_t> enabled;
  std::vector<std::string> calls;    ///< without pushes and pops
  std::vector<std::uint64_t> stack;  ///< of external ids, of all threads together
  std::uint64_t pushes = 0;

 private:
  friend struct FakeFunctions;
  void note(const std::string& call);
  CuptiResult answer(const std::string& function);
  void complete();
  void write_locked(const std::vector<Bytes>& records);

  std::mutex mutex_;
  BufferRequested requested_ = nullptr;
  BufferCompleted completed_ = nullptr;
  bool others_ = false;
  std::uint8_t* buffer_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t used_ = 0;
};

}  // namespace stowage::tracer::cupti::testing
