// Broken rules of the memory API: said once, clearly, with the address, and kept for tests.
//
// Why: real CUDA answers most of them with a bare "invalid argument" or with silence; here they are what the
// simulator is for. Thread safety: any thread.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace stowage::simulator {

/// Prints "stowage simulator: <text>" to stderr, counts it, keeps it for stowage_sim_last_misuse(), returns
/// `code`.
[[gnu::format(printf, 2, 3)]] CUresult misuse(CUresult code, const char* format, ...);
/// Counts the calls of misuse() since the beginning or since forget_misuses().
std::int64_t misuses();
void forget_misuses();
/// The text of the latest; "" before the first.
const char* last_misuse();

}  // namespace stowage::simulator
