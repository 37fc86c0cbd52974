#include "session/settings/process_name.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

namespace stowage::session {
namespace {

namespace fs = std::filesystem;

/// The variables that tell a launcher's process its rank and the number of ranks.
struct Launcher {
  const char* rank;
  const char* ranks;
};
constexpr std::array kLaunchers{Launcher{"RANK", "WORLD_SIZE"},
                                Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                Launcher{"PMI_RANK", "PMI_SIZE"}, Launcher{"SLURM_PROCID", "SLURM_NTASKS"}};

std::optional<std::uint64_t> number_of(const Environment& environment, const char* name) {
  const std::string text = value_of(environment, name);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

struct Given {
  std::mutex mutex;
  std::string name;
};
Given& given() {
  static auto* instance = new Given;
  return *instance;
}

std::int64_t nanoseconds(const timespec& time) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return time.tv_sec * kSecond + time.tv_nsec;
}

bool written_after(const std::string& path, std::int64_t since_ns) {
  struct stat file {};
  return stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && nanoseconds(file.st_mtim) > since_ns;
}

/// A process that was stopped while it wrote must not keep others from exiting.
void lock_for_a_while(int folder) {
  constexpr int kTries = 100;
  constexpr std::chrono::milliseconds kPause(20);
  for (int i = 0; i < kTries; ++i) {
    if (flock(folder, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

std::string rank_name(const Environment& environment) {
  for (const Launcher& launcher : kLaunchers) {
    const auto rank = number_of(environment, launcher.rank);
    const auto ranks = number_of(environment, launcher.ranks);
    if (rank && ranks) return *ranks > 1 ? "rank" + std::to_string(*rank) : "";
  }
  return "";
}

std::uint64_t world_size(const Environment& environment) {
  for (const Launcher& launcher : kLaunchers) {
    const auto ranks = number_of(environment, launcher.ranks);
    if (ranks && *ranks > 0) return *ranks;
  }
  return 1;
}

std::string process_name() {
  {
    const std::lock_guard lock(given().mutex);
    if (!given().name.empty()) return given().name;
  }
  return rank_name(process_environment());
}

void set_process_name(const std::string& name) {
  const std::lock_guard lock(given().mutex);
  given().name = name;
}

std::string path_for(const std::string& path, const std::string& name) {
  if (name.empty()) return path;
  fs::path changed(path);
  const std::string suffix = changed.extension().string();
  changed.replace_filename(changed.stem().string() + "." + name + suffix);
  return changed.string();
}

std::string command_of(const std::string& program, const std::vector<std::string>& arguments) {
  const bool is_python = fs::path(program).filename().string().starts_with("python");
  std::string command = program;
  bool found = false;
  for (const std::string& argument : arguments) {
    if (argument == "--multiprocessing-fork") return "";
    std::error_code failed;
    const bool is_script = !found && fs::is_regular_file(argument, failed);
    command += '\0' + (is_script ? fs::weakly_canonical(argument, failed).string() : argument);
    found = found || is_script;
  }
  const bool says_nothing = arguments.empty() || arguments.front() == "-" || arguments.front() == "-i";
  return is_python && says_nothing ? "" : command;
}

std::string process_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  std::error_code failed;
  const std::string program = fs::read_symlink("/proc/self/exe", failed).string();
  if (arguments.empty() || failed) return "";
  arguments.erase(arguments.begin());
  return command_of(program, arguments);
}

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME_COARSE, &time);
  return nanoseconds(time);
}

OutputClaim::OutputClaim(const std::string& path, std::int64_t since_ns)
    : path_(path_for(path, process_name())) {
  const std::string folder = fs::path(path_).parent_path().string();
  folder_ = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ >= 0) lock_for_a_while(folder_);
  if (written_after(path_, since_ns)) path_ = path_for(path_, "pid" + std::to_string(getpid()));
}

OutputClaim::~OutputClaim() {
  if (folder_ >= 0) close(folder_);
}

}  // namespace stowage::session
