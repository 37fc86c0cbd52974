#include "recompute/verify/source_line.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <algorithm>
#include <fstream>
#include <string_view>

namespace stowage::recompute {
namespace {

bool is_of_a_package(std::string_view file, std::string_view package) {
  const std::string folder = "/" + std::string(package) + "/";
  return file.find("/site-packages" + folder) != std::string_view::npos ||
         file.find("/dist-packages" + folder) != std::string_view::npos;
}

bool is_of_the_job(const torch::unwind::Frame& frame) {
  const std::string_view file = frame.filename;
  return !is_of_a_package(file, "torch") && !is_of_a_package(file, "stowage") &&
         file.find("/python/stowage/") == std::string_view::npos && file.substr(0, 1) != "<";
}

// What stands in a line of a file, without its indentation; "" where that cannot be read.
std::string line_of(const std::string& path, std::uint64_t number) {
  std::ifstream file(path);
  std::string line;
  for (std::uint64_t at = 0; at < number; ++at) {
    if (!std::getline(file, line)) return "";
  }
  const std::size_t begin = line.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : line.substr(begin);
}

}  // namespace

SourceLine SourceLine::here() {
  SourceLine line;
  line.frames_ = torch::CapturedTraceback::gather(/*python=*/true, /*script=*/false, /*cpp=*/false);
  if (const auto node = torch::autograd::get_current_node()) line.node_ = node->name();
  return line;
}

std::string SourceLine::text() const {
  if (!frames_) return "";
  const torch::SymbolizedTracebacks symbols = torch::symbolize({frames_.get()});
  const std::vector<std::uint64_t>& frames = symbols.tracebacks.at(0);  // innermost first
  if (frames.empty()) return node_;
  const auto found = std::find_if(frames.begin(), frames.end(),
                                  [&](std::uint64_t at) { return is_of_the_job(symbols.all_frames[at]); });
  const torch::unwind::Frame& frame = symbols.all_frames[found == frames.end() ? frames.front() : *found];
  std::string text = frame.filename + ":" + std::to_string(frame.lineno) + " in " + frame.funcname;
  if (!node_.empty()) text += ", for " + node_;
  const std::string line = line_of(frame.filename, frame.lineno);
  return line.empty() ? text : text + ": " + line;
}

}  // namespace stowage::recompute
