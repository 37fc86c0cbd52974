#include "session/states/states.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace stowage::session {
namespace {

std::string states_page() {
  std::ifstream file(STOWAGE_DOCS "/states.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(States, ChangeAlongTheTableOnly) {
  StateMachine<SessionState> state("session", SessionState::kRecording, session_arcs());
  state.change(SessionState::kPlanning, "test");
  state.change(SessionState::kPlanned, "test");
  EXPECT_EQ(state.load(), SessionState::kPlanned);
  EXPECT_THROW(state.change(SessionState::kPlanning, "test"), std::logic_error);
  EXPECT_EQ(state.load(), SessionState::kPlanned) << "a wrong change changes nothing";
  state.change(SessionState::kPlanned, "no change at all");
  state.force(SessionState::kOff);
  EXPECT_EQ(state.load(), SessionState::kOff);
}

TEST(States, OfASessionAlwaysLeadToOffAndNothingLeadsBack) {
  for (const SessionState from :
       {SessionState::kRecording, SessionState::kPlanning, SessionState::kPlanned, SessionState::kRescuing}) {
    StateMachine<SessionState> state("session", from, session_arcs());
    EXPECT_NO_THROW(state.change(SessionState::kOff, "test")) << to_string(from);
    EXPECT_THROW(state.change(from, "test"), std::logic_error) << to_string(from);
  }
}

TEST(States, AreDrawnInTheDocuments) {
  const std::string page = states_page();
  for (const std::string& drawn : {chart(session_arcs()), chart(budget_arcs()), chart(schedule_arcs())})
    EXPECT_NE(page.find(drawn), std::string::npos) << drawn;
}

}  // namespace
}  // namespace stowage::session
