// The sessions of this process. Optimizer steps, stowage.step(), the report and fork() concern all of them.
//
// Thread safety: any thread. Sessions are leaked by the adaptors on purpose (tensors are freed after static
// destruction), so a session found here stays valid unless a test destroys its own.
#pragma once

#include <vector>

namespace stowage::session {

class Session;

/// The first call installs the fork handler: in a forked child every session is off and takes no lock.
void add_session(Session* session);
void remove_session(Session* session);
/// In order of adding.
std::vector<Session*> all_sessions();
/// The newest session of each device, in order of the devices' first sessions: disable() ends a session
/// permanently, and enable() begins another.
std::vector<Session*> present_sessions();

}  // namespace stowage::session
