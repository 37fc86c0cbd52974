// planner_make_trace BUFFERS BLOCKS same|varied FILE: writes the trace of a GPT of so many blocks that is
// trained in as many micro-batches as make about so many allocations an iteration; varied ones have different
// lengths.
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include "core/format/trace_file.h"
#include "tests/planner/training_traces.h"

int main(int argc, char** argv) {
  const std::span arguments(argv, static_cast<std::size_t>(argc));
  if (arguments.size() != 5) {
    std::fprintf(stderr, "usage: planner_make_trace BUFFERS BLOCKS same|varied FILE\n");
    return 1;
  }
  const auto buffers = std::strtoull(arguments[1], nullptr, 10);
  const auto blocks = static_cast<int>(std::strtol(arguments[2], nullptr, 10));
  const bool varied = std::string_view(arguments[3]) == "varied";
  const auto job = stowage::planner::gpt_in_micro_batches(buffers, blocks, varied);
  const stowage::Status saved = stowage::save_trace(stowage::planner::training_trace(job), arguments[4]);
  if (!saved) std::fprintf(stderr, "%s\n", saved.error().message.c_str());
  return saved ? 0 : 1;
}
