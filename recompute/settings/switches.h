// The settings of at::Context that decide which bits an op gives, each with the calls it matters to.
//
// A test compares these with the setters that the installed torch has: each is here or has a reason there
// (tests/recompute/environment_test.py).
//
// Thread safety: as at::Context's own setters, which the job must not call while another thread runs ops.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "recompute/ops/op_lists.h"

namespace stowage::recompute {

/// What an op obeys: the settings of the CPU or of CUDA, and which of products.
struct Obeyed {
  Products products = Products::kNone;
  bool cuda = false;
};

/// The values of all settings that an op obeys, each in bits of its own.
using Switches = std::array<std::uint64_t, 2>;

Switches present_switches(Obeyed obeyed);
/// Sets those that differ. Both as present_switches(obeyed) gives them.
void change_switches(const Switches& from, const Switches& to, Obeyed obeyed);

/// Those that differ from torch's defaults, as `setter = value`, for people.
std::string text_of(const Switches& switches, Obeyed obeyed);

/// The setters of at::Context by name, in order; null after the last.
const char* name_of_switch(std::size_t at);

}  // namespace stowage::recompute
