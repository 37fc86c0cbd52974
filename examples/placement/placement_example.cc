// Placement on its own: buffers with lifetimes in, offsets out. Four things that programs ask of it:
//
//   1. the least memory for a problem that is built in code
//   2. the same for one from a file
//   3. a capacity that is too small, and which buffers are to blame
//   4. offsets that must not move
//
// Built and run by tests/package/; README.md says how to build it yourself.
#include <stowage/planner/placement/problem/csv.h>
#include <stowage/planner/placement/solve.h>

#include <cstdint>
#include <cstdio>

namespace {

using stowage::Bytes;
using stowage::Offset;
namespace placement = stowage::planner::placement;

/// Alive from tick `birth` until just before tick `death`; its offset may be any multiple of 512.
placement::Item buffer(std::uint64_t birth, std::uint64_t death, std::uint64_t bytes) {
  placement::Item item;
  item.birth = birth;
  item.death = death;
  item.size = Bytes(bytes);
  return item;
}

/// Places the problem and prints where each buffer lies. False, with a sentence on stderr, for bad input.
bool show(const char* title, const placement::Problem& problem) {
  placement::PlaceOptions options;
  options.time_limit_s = 5;  // these take a millisecond; a large one improves until then
  const auto solution = placement::place(problem, options);
  if (!solution) {
    std::fprintf(stderr, "%s: %s\n", title, solution.error().message.c_str());
    return false;
  }
  std::printf("%s\n", title);
  if (!placement::fits(problem, *solution)) {
    std::printf("  does not fit; neither do these alone:");
    for (const std::uint32_t item : solution->conflict) std::printf(" %u", item);
    std::printf("\n");
    return true;
  }
  std::printf("  height %llu, at least %llu%s\n", static_cast<unsigned long long>(solution->height.value()),
              static_cast<unsigned long long>(solution->lower_bound.value()),
              solution->proved_optimal ? ": proved least" : "");
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    const placement::Item& item = problem.items[i];
    std::printf("  buffer %zu  [%llu, %llu)  %5llu bytes at %5llu\n", i,
                static_cast<unsigned long long>(item.birth), static_cast<unsigned long long>(item.death),
                static_cast<unsigned long long>(item.size.value()),
                static_cast<unsigned long long>(solution->offsets[i].value()));
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  placement::Problem problem;
  problem.items = {buffer(0, 4, 2048), buffer(1, 6, 1024), buffer(4, 9, 2048), buffer(6, 9, 1024)};
  bool good = show("built in code", problem);

  problem.capacity = Bytes(2560);
  good = show("in 2,560 bytes", problem) && good;

  problem.capacity.reset();
  problem.items[1].fixed = Offset(4096);  // a CUDA graph holds this address
  good = show("with buffer 1 fixed at 4,096", problem) && good;

  if (argc > 1) {
    const auto table = placement::read_csv(argv[1]);
    if (!table) std::fprintf(stderr, "%s\n", table.error().message.c_str());
    good = table && show(argv[1], table->problem) && good;
  }
  return good ? 0 : 1;
}
