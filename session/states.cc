#include "session/states.h"

#include <array>

namespace stowage::plugin {
namespace {

using enum SessionState;

constexpr std::array kSessionArcs = std::to_array<Arc<SessionState>>({
    {kRecording, kPlanning, "the last iterations agree"},
    {kRecording, kPlanned, "an earlier run left a plan for them"},
    {kRecording, kRescuing, "iterations evict under a budget, or there will be no plan under it"},
    {kRecording, kOff, "no two iterations agree, or a failure"},
    {kPlanning, kPlanned, "the plan is there, and reserves no more than the job needs"},
    {kPlanning, kRecording, "iterations are marked in a better way"},
    {kPlanning, kRescuing, "the arena does not fit into the budget, or a failure under one"},
    {kPlanning, kOff, "no plan can be followed"},
    {kPlanned, kRecording, "the job left its plan"},
    {kPlanned, kRescuing, "the arena does not fit into the budget any more, or a failure under one"},
    {kPlanned, kOff, "the job leaves its plans too often, or is better off without one"},
    {kRescuing, kRecording, "iterations are calm, or a schedule evicts alike in each"},
    {kRescuing, kOff, "stopped on request"},
});

}  // namespace

const char* to_string(SessionState state) {
  switch (state) {
    case kRecording:
      return "recording";
    case kPlanning:
      return "planning";
    case kPlanned:
      return "planned";
    case kRescuing:
      return "rescuing";
    case kOff:
      return "off";
  }
  return "unknown";
}

std::span<const Arc<SessionState>> session_arcs() { return kSessionArcs; }

}  // namespace stowage::plugin
