// The parts of a session. None of them knows the session, nor the parts declared after it.
//
// Three kinds: fixed; shared by all threads, each by its own rules; and the conductor's, which only the
// conducting thread touches (session_state.h).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "session/arena/frees.h"
#include "session/budget/peak_watch.h"
#include "session/online/online_phase.h"
#include "session/online/unmarked_run.h"
#include "session/planned/next_run.h"
#include "session/planned/opening_phase.h"
#include "session/planned/planned_phase.h"
#include "session/plans/kept_schedules.h"
#include "session/ranks/rank_sharing.h"
#include "session/recording/best_source.h"
#include "session/rescue/eviction_watch.h"
#include "session/switch/early_steps.h"
#include "session/switch/plan_switch.h"
#include "session/switch/planning.h"
#include "tracer/recorder/period_detector.h"

namespace stowage::session {

struct SessionParts {
  SessionParts(SessionHot& hot_path, DevicePort& device_port, TorchPort& torch_port, const Settings& chosen,
               std::unique_ptr<PlanSource> source)
      : port(device_port),
        torch(torch_port),
        settings(chosen),
        info(device_port.describe()),
        hot(hot_path),
        sharing(settings, torch),
        kept_schedules(settings, info),
        budget(chosen.budget_of(info.device.kind), device_port.ledger(), torch, info.device,
               info.device_memory, std::chrono::milliseconds(chosen.plan_wait_ms), &device_port,
               sharing.schedule_maker(), &kept_schedules),
        recording(hot.recorder, port, torch, info, settings),
        plans(settings, info, std::move(source), &sharing) {}

  // ---- fixed
  DevicePort& port;
  TorchPort& torch;
  const Settings settings;
  const TraceInfo info;

  // ---- shared
  SessionHot& hot;
  RankSharing sharing;
  KeptSchedules kept_schedules;
  BudgetController budget;
  ServedArena arena{hot, port, budget, settings.fault};
  Frees frees{hot, port, arena};
  SessionFacts facts;
  ReservedGuard guard{port, info, budget, arena, facts};
  DeviceRoom room{port, arena, guard};
  LastingMemory lasting{budget, port, torch, info.device};
  PlanUnderBudget under_budget{budget, port, arena, lasting, facts};
  EarlySteps early_steps{port, arena};
  OpeningPhase opening{settings, arena};
  std::atomic<bool> may_begin_planned{true};  ///< until the first allocation
  std::atomic<std::uint32_t> polls{0};
  UnmarkedRun unmarked;
  tracer::PeriodDetector periods;
  PeakWatch peaks;

  // ---- the conductor's
  BestSource best_source;
  Recording recording;
  Learner learner{recording};
  PlanBook plans;
  EvictionWatch evictions{budget, port, arena, lasting, recording, facts};
  Planning planning{settings, port, recording, plans, guard, facts};
  PlanWorth worth{arena, plans, guard, room};
  PlanSwitch plan_switch{under_budget, worth, room, arena};
  ServedIterations iterations{port, arena, recording, guard};
  Replanning replanning{settings, port, budget, arena, plans, recording, learner, guard, room, facts};
  ArenaExchange exchange{port, budget, arena, plans, guard, room, facts};
  PlannedPhase planned{settings, arena, under_budget, worth, iterations, replanning, exchange};
  NextRun next_run{settings, port, recording, plans, guard, arena, facts};
  OnlinePhase online{settings, port,  budget, arena,      recording, planning,
                     guard,    worth, room,   iterations, facts};
};

}  // namespace stowage::session
