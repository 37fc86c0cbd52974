// Every setting of Stowage, declared once: name, default, bounds, help (the table is in settings.cc).
//
// A setting comes from the environment (STOWAGE, STOWAGE_<NAME>) and can be overridden by "key=value" lines,
// where key is the name in lower case without the prefix ("enable" for STOWAGE itself). A value out of bounds
// or an unknown key is one error that says what it takes; an unknown variable is skipped (environment.h
// warns). Thread safety: plain data and pure functions; the environment is read only in read_settings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/cache_place.h"
#include "core/device.h"
#include "core/result.h"
#include "core/units.h"
#include "session/settings/budget.h"
#include "session/settings/forced_range.h"

namespace stowage::session {

/// Physical memory of a CUDA arena: CUDA virtual memory, or one cudaMalloc for IPC and RDMA users.
enum class ArenaBackend : std::uint8_t { kVmm, kMalloc };
/// Which allocators are taken over. kAuto: CUDA's where a CUDA driver is found, else the CPU's.
enum class Devices : std::uint8_t { kAuto, kCuda, kCpu, kBoth };
/// Whether CUPTI times the ops of CUDA devices. kAuto: under a budget, and for STOWAGE_TRACE.
enum class Cupti : std::uint8_t { kAuto, kOff, kOn };
/// What is made to fail on purpose, so that tests see that the job continues.
enum class Fault : std::uint8_t { kNone, kPlanner, kThread, kArena, kRecipe };

struct Settings {
  bool enable = false;               ///< STOWAGE: use Stowage in this process
  Devices devices = Devices::kAuto;  ///< STOWAGE_DEVICES
  Budget budget;                     ///< STOWAGE_BUDGET: the most bytes of a device the job may hold
  std::string spill;                 ///< STOWAGE_SPILL: folder that CPU tensors are offloaded to; "": none
  HostMemory host_memory;            ///< STOWAGE_HOST_MEMORY: for what is offloaded from CUDA devices
  bool split_ops = true;             ///< STOWAGE_SPLIT_OPS: run ops in parts that need too much at once
  bool reuse_gradients = true;       ///< STOWAGE_REUSE_GRADIENTS: elementwise ops write over them
  bool encode = true;                ///< STOWAGE_ENCODE: masks and indices in fewer bytes
  bool record_ops = true;            ///< STOWAGE_RECORD_OPS: write down ATen ops, not allocations only
  Cupti cupti = Cupti::kAuto;        ///< STOWAGE_CUPTI
  std::uint64_t record_events = 4'000'000;  ///< STOWAGE_RECORD_EVENTS: bound on events kept
  std::uint64_t record_iterations = 50;     ///< STOWAGE_RECORD_ITERATIONS: marks to wait for a steady state
  double plan_seconds = 2.0;                ///< STOWAGE_PLAN_SECONDS: time limit of the planner
  std::uint64_t plan_work =
      400'000'000;  ///< STOWAGE_PLAN_WORK: work limit of the planner, in placed buffers looked at
  std::uint64_t plan_wait_ms = 300;  ///< STOWAGE_PLAN_WAIT_MS: how long to wait for a requested plan
  bool share_plans = true;           ///< STOWAGE_SHARE_PLANS: ranks that do the same plan once for all
  std::uint64_t max_plans = 8;       ///< STOWAGE_MAX_PLANS: kinds of iteration planned side by side
  double miss_tolerance = 0.25;  ///< STOWAGE_MISS_TOLERANCE: share of misses that makes an iteration diverged
  std::uint64_t diverged_iterations = 8;    ///< STOWAGE_DIVERGED_ITERATIONS: this many in a row end the plan
  std::uint64_t max_replans = 3;            ///< STOWAGE_MAX_REPLANS: after this many there is no plan
  ArenaBackend arena = ArenaBackend::kVmm;  ///< STOWAGE_ARENA
  bool online = true;                       ///< STOWAGE_ONLINE: serve jobs without a plan from the arena, too
  std::string report;            ///< STOWAGE_REPORT: at exit; "text" or "1": to stderr; else a path for JSON
  std::string trace;             ///< STOWAGE_TRACE: file the recorded trace is written to at exit
  std::string plan_cache;        ///< STOWAGE_PLAN_CACHE: folder of plans kept between runs; "": none are kept
  std::string users_plan_cache;  ///< what plan_cache is where nobody chose; "": there is no such folder
  std::uint64_t plan_cache_bytes = kPlanCacheBytes;  ///< STOWAGE_PLAN_CACHE_BYTES: what the folder may hold
  std::string job;                                   ///< STOWAGE_JOB: name put into traces, for people
  std::string library;                               ///< STOWAGE_LIBRARY: libstowage.so, for the preload shim
  std::uint64_t verbose = 0;     ///< STOWAGE_VERBOSE: 0 warnings, 1 state changes, 2 every iteration
  bool verify = false;           ///< STOWAGE_VERIFY: replay each recipe at once and compare the bits
  ForcedRange evict;             ///< STOWAGE_EVICT: forced evictions, to find wrong bits
  Fault fault = Fault::kNone;    ///< STOWAGE_FAULT: for tests
  std::string wrong_recipe;      ///< the op of STOWAGE_FAULT=recipe:OP
  std::uint64_t world_size = 1;  ///< processes of the job, as its launcher says
  std::string rank;              ///< rank_name() of the environment
  std::string command;           ///< what the next run of the job is known by; "": it is not

  /// The budget of such a device: the user's, or "auto" on CUDA devices.
  [[nodiscard]] Budget budget_of(DeviceKind device) const;
};

/// Settings from the environment `environment` (pairs of name and value; of names that are not ours only
/// those count that say where the user's cache folder is, and how many processes the job has), then from
/// `overrides`, one key=value a line. Error: kInvalidArgument.
Result<Settings> parse_settings(const std::vector<std::pair<std::string, std::string>>& environment,
                                std::string_view overrides);
/// The same with the process's environment.
Result<Settings> read_settings(std::string_view overrides = {});

/// One row of `stowage settings`.
struct SettingRow {
  std::string variable;  ///< STOWAGE_…
  std::string key;
  std::string value;     ///< in `settings`
  std::string standard;  ///< the default
  std::string bounds;
  std::string help;
};
/// All settings in table order with their values in `settings`. The default of STOWAGE_PLAN_CACHE is the
/// user's.
std::vector<SettingRow> list_settings(const Settings& settings);
/// list_settings as a JSON array of objects: variable, key, value, default, bounds, help.
std::string settings_json(const Settings& settings);

}  // namespace stowage::session
