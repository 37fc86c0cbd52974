#include "replay/timeline/timeline_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "core/format/trace_file.h"
#include "replay/timeline/timeline.h"

namespace stowage::replay {
namespace {

int fail(const std::string& message) {
  std::fprintf(stderr, "stowage timeline: error: %s\n", message.c_str());
  return 1;
}

// What was written is put in place only when it is complete: an earlier file is not lost to a full disk.
Status write_file(const Trace& trace, const std::filesystem::path& path) {
  const std::filesystem::path beside = path.string() + ".new";
  std::ofstream file(beside, std::ios::binary);
  if (!file) return Error{ErrorCode::kIo, path.string() + " cannot be written; does its folder exist?"};
  Status written = write_timeline(trace, file);
  file.close();
  std::error_code error;
  if (written) std::filesystem::rename(beside, path, error);
  if (!written || error) std::filesystem::remove(beside);
  if (error) return Error{ErrorCode::kIo, path.string() + " cannot be written: " + error.message()};
  return written;
}

int run(const std::string& input, const std::string& output) {
  const Result<Trace> trace = load_trace(input);
  if (!trace) return fail(trace.error().message);
  const Status written = output == "-" ? write_timeline(*trace, std::cout) : write_file(*trace, output);
  if (!written) return fail(written.error().message);
  if (trace->losses.any())
    std::fprintf(stderr,
                 "stowage timeline: warning: CUPTI lost records of this trace; GPU times may be too low\n");
  if (output != "-") std::printf("%s: open it in Perfetto or at chrome://tracing\n", output.c_str());
  return 0;
}

}  // namespace

int timeline_command(int argc, char** argv) {
  CLI::App app{
      "Writes a recorded trace as a timeline for Perfetto or Chrome: ops, kernels, live bytes, phases."};
  std::string trace;
  std::string output = "timeline.json";
  app.add_option("trace", trace, "a .stowtrace file")->required();
  app.add_option("--out", output, "the JSON file to write; - for standard output")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked_for_help) {
    return app.exit(asked_for_help);
  } catch (const CLI::ParseError& error) {
    return fail(std::string(error.what()) + "; see stowage timeline --help");
  }
  return run(trace, output);
}

}  // namespace stowage::replay
