#include "replay/replay_report.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

namespace stowage::replay {
namespace {

double mib(Bytes bytes) { return static_cast<double>(bytes.value()) / (1 << 20); }

std::uint64_t misses(const allocator::ServeCounts& counts) {
  return std::accumulate(counts.misses.begin(), counts.misses.end(), std::uint64_t{0});
}

/// The job's figures as a whole: the arena, and beside it what upstream keeps.
Figures whole_job(const ReplayReport& report) {
  return {report.planned.figures.peak_live + report.outside,
          report.planned.figures.reserved + report.outside};
}

nlohmann::json figures_json(const Figures& figures) {
  return {{"peak_live", figures.peak_live.value()},
          {"reserved", figures.reserved.value()},
          {"fragmentation", figures.fragmentation()}};
}

nlohmann::json model_json(const std::optional<Figures>& figures) {
  return figures ? figures_json(*figures) : nlohmann::json();
}

std::string row(const char* name, const Figures& figures) {
  char line[160];
  std::snprintf(line, sizeof line, "  %-22s %12.2f %12.2f %11.1f %%\n", name, mib(figures.peak_live),
                mib(figures.reserved), 100 * figures.fragmentation());
  return line;
}

}  // namespace

ReplayReport make_report(const Trace& trace, const Plan& plan, const PlannedReplay& planned) {
  ReplayReport report;
  report.job = trace.info.job;
  report.allocations = plan.entries.size();
  report.outside = planned.outside;
  report.planned = planned;
  report.caching = replay_caching(trace, CachingModel::Segments::kFixed);
  report.expandable = replay_caching(trace, CachingModel::Segments::kExpandable);
  report.lower_bound = plan.lower_bound;
  report.proved_optimal = plan.proved_optimal;
  report.technique = plan.technique;
  report.planning_ns = plan.planning_ns;
  return report;
}

nlohmann::json to_json(const ReplayReport& report) {
  nlohmann::json json = figures_json(whole_job(report));
  json["job"] = report.job;
  json["allocations"] = report.allocations;
  json["height"] = report.planned.figures.reserved.value();
  json["lower_bound"] = report.lower_bound.value();
  json["proved"] = report.proved_optimal;
  json["technique"] = report.technique;
  json["planning_ms"] = static_cast<double>(report.planning_ns) / 1e6;
  json["outside"] = report.outside.value();
  json["misses"] = misses(report.planned.counts);
  json["compare"] = {{"caching", model_json(report.caching)}, {"expandable", model_json(report.expandable)}};
  return json;
}

std::string to_table(const ReplayReport& report) {
  char line[256];
  std::snprintf(line, sizeof line,
                "%s: %llu allocations an iteration\n"
                "  %-22s %12s %12s %13s\n",
                report.job.empty() ? "trace" : report.job.c_str(),
                static_cast<unsigned long long>(report.allocations), "MiB", "peak live", "reserved",
                "fragmentation");
  std::string text = line;
  if (report.caching && report.expandable) {
    text += row("PyTorch (model)", *report.caching);
    text += row("expandable (model)", *report.expandable);
  }
  text += row("Stowage", whole_job(report));
  std::snprintf(line, sizeof line,
                "  arena %.2f MiB, lower bound %.2f MiB (%s), %s, planned in %.1f ms, %llu misses",
                mib(report.planned.figures.reserved), mib(report.lower_bound),
                report.proved_optimal ? "proved optimal" : "not proved", report.technique.c_str(),
                static_cast<double>(report.planning_ns) / 1e6,
                static_cast<unsigned long long>(misses(report.planned.counts)));
  text += line;
  if (!report.caching)
    text +=
        "\n  PyTorch's CUDA allocator is not modelled: this trace does not hold a CUDA job from its first "
        "allocation";
  return text;
}

}  // namespace stowage::replay
