// What the simulated machine looks like and what its work costs: the STOWAGE_SIM_* variables, read once.
//
// Why: a simulated job must behave the same on every machine, so everything that real hardware would decide
// is a number here. Thread safety: immutable after load. The variables are listed in simulator/README.md.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace stowage::simulator {

/// Every choice about the simulated machine. Times are virtual nanoseconds.
struct Settings {
  std::uint64_t memory_bytes = std::uint64_t{80} << 30;  // per device
  int devices = 1;
  std::string name = "Stowage simulated GPU (sm_90)";
  std::int64_t host_call_ns = 1000;  // host time that one API call takes
  std::int64_t launch_ns = 5000;     // device time of the smallest kernel
  std::int64_t gflops = 400'000;     // speed of matrix products and convolutions
  std::int64_t device_mbps = 4'000'000;
  std::int64_t host_link_mbps = 50'000;
  std::uint64_t dnn_workspace_bytes = std::uint64_t{16} << 20;  // what a convolution asks for
  bool real_copies = false;                 // copy contents of any size, not only small ones
  bool report = false;                      // print the counters when the process ends
  bool verbose = false;                     // name every call that is not simulated
  std::map<std::string, int> cupti_errors;  // what these functions of CUPTI answer
  std::map<std::string, int> cupti_faults;  // one of kCuptiFaults, and at every which time it strikes
};

inline constexpr std::array kCuptiFaults{"drop", "untimed", "reversed", "unknown"};

/// Reads "4096", "80GiB", "512MiB", "16KiB" (also GB, MB, KB, meaning the same powers of two). Empty: not a
/// size.
std::optional<std::uint64_t> parse_bytes(const std::string& text);

/// Reads the environment. Error: says which variable is wrong and what it may be, then ends the process with
/// 2: a job must never run on another machine than the one that was asked for.
Settings load_settings();

/// The settings of this process, read at the first use.
const Settings& settings();

}  // namespace stowage::simulator
