#include "session/states/states.h"

#include <array>

namespace stowage::session {
namespace {

using Session = SessionState;
using Budget = BudgetState;
using Schedule = ScheduleState;

constexpr std::array kSessionArcs = std::to_array<Arc<SessionState>>({
    {Session::kRecording, Session::kPlanning, "the last iterations agree"},
    {Session::kRecording, Session::kPlanned, "an earlier run left a plan for them"},
    {Session::kRecording, Session::kRescuing,
     "iterations evict under a budget, or there will be no plan under it"},
    {Session::kRecording, Session::kOnline, "iterations do not repeat, or none is found"},
    {Session::kRecording, Session::kOff, "no two iterations agree, or a failure"},
    {Session::kPlanning, Session::kPlanned, "the plan is there, and reserves no more than the job needs"},
    {Session::kPlanning, Session::kRecording,
     "iterations are marked in a better way, or the device is nearly full"},
    {Session::kPlanning, Session::kRescuing,
     "the arena does not fit into the budget, or a failure under one"},
    {Session::kPlanning, Session::kOff, "no plan can be followed"},
    {Session::kPlanned, Session::kRecording, "the job left its plan, or the device is nearly full"},
    {Session::kPlanned, Session::kRescuing,
     "the arena does not fit into the budget any more, or a failure under one"},
    {Session::kPlanned, Session::kOnline, "the job leaves its plans too often"},
    {Session::kPlanned, Session::kOff, "the job leaves its plans too often, or is better off without one"},
    {Session::kOnline, Session::kPlanning, "the job repeats itself by now"},
    {Session::kOnline, Session::kRecording,
     "iterations are marked in a better way, or the device is nearly full"},
    {Session::kOnline, Session::kOff, "the job is better off without an arena, or a failure"},
    {Session::kRescuing, Session::kRecording, "iterations are calm, or a schedule evicts alike in each"},
    {Session::kRescuing, Session::kOff, "stopped on request"},
});

constexpr std::array kBudgetArcs = std::to_array<Arc<BudgetState>>({
    {Budget::kNone, Budget::kWaiting, "one was asked for"},
    {Budget::kNone, Budget::kArmed, "it is to take effect where the device gets full"},
    {Budget::kArmed, Budget::kWatching, "the device is nearly full"},
    {Budget::kArmed, Budget::kNone, "it cannot be held"},
    {Budget::kArmed, Budget::kEnded, "the session ends"},
    {Budget::kWatching, Budget::kArmed, "the job fits into the device"},
    {Budget::kWaiting, Budget::kWatching, "Python's guards are known"},
    {Budget::kWaiting, Budget::kNone, "it cannot be held"},
    {Budget::kWaiting, Budget::kEnded, "the session ends"},
    {Budget::kWatching, Budget::kResting, "a plan serves that fits, or the session ends"},
    {Budget::kResting, Budget::kWatching, "the plan was left"},
    {Budget::kResting, Budget::kNone, "the runtime cannot be installed again"},
    {Budget::kResting, Budget::kEnded, "the session ends"},
});

constexpr std::array kScheduleArcs = std::to_array<Arc<ScheduleState>>({
    {Schedule::kWatching, Schedule::kRecording, "iterations evict"},
    {Schedule::kWatching, Schedule::kFollowing, "an earlier run kept a schedule"},
    {Schedule::kRecording, Schedule::kScheduling, "an iteration is written down"},
    {Schedule::kRecording, Schedule::kWatching, "it could not be written down, or the budget rests"},
    {Schedule::kScheduling, Schedule::kFollowing, "the schedule is there"},
    {Schedule::kScheduling, Schedule::kWatching, "there is none, or the budget rests"},
    {Schedule::kFollowing, Schedule::kWatching, "the job's ops differ, or the budget rests"},
    {Schedule::kWatching, Schedule::kAlone, "it failed too often, or rescue alone does better"},
});

}  // namespace

const char* to_string(SessionState state) {
  switch (state) {
    case SessionState::kRecording:
      return "recording";
    case SessionState::kPlanning:
      return "planning";
    case SessionState::kPlanned:
      return "planned";
    case SessionState::kOnline:
      return "online";
    case SessionState::kRescuing:
      return "rescuing";
    case SessionState::kOff:
      return "off";
  }
  return "unknown";
}

const char* to_string(BudgetState state) {
  switch (state) {
    case BudgetState::kNone:
      return "none";
    case BudgetState::kArmed:
      return "armed";
    case BudgetState::kEnded:
      return "ended";
    case BudgetState::kWaiting:
      return "waiting";
    case BudgetState::kWatching:
      return "watching";
    case BudgetState::kResting:
      return "resting";
  }
  return "unknown";
}

const char* to_string(ScheduleState state) {
  switch (state) {
    case ScheduleState::kWatching:
      return "watching";
    case ScheduleState::kRecording:
      return "recording";
    case ScheduleState::kScheduling:
      return "scheduling";
    case ScheduleState::kFollowing:
      return "following";
    case ScheduleState::kAlone:
      return "alone";
  }
  return "unknown";
}

std::span<const Arc<SessionState>> session_arcs() { return kSessionArcs; }
std::span<const Arc<BudgetState>> budget_arcs() { return kBudgetArcs; }
std::span<const Arc<ScheduleState>> schedule_arcs() { return kScheduleArcs; }

}  // namespace stowage::session
