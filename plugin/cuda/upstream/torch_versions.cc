#include "plugin/cuda/upstream/torch_versions.h"

#include <dlfcn.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>

// Of libtorch_cpu, stable across releases: the loaded torch's TORCH_ABI_VERSION (major and minor in the top
// bytes).
extern "C" std::uint64_t aoti_torch_abi_version();

#define STOWAGE_TEXT_(x) #x
#define STOWAGE_TEXT(x) STOWAGE_TEXT_(x)

namespace stowage::plugin {
namespace {

Error mismatch(const std::string& running) {
  return {ErrorCode::kUnsupported,
          "Stowage was built for torch " + std::string(built_torch_version()) +
              " but this process runs torch " + running +
              ": install Stowage again under this torch (pip install --force-reinstall --no-deps stowage); "
              "the job goes on without it"};
}

Status check(unsigned major, unsigned minor, const std::string& running) {
  if (major == TORCH_VERSION_MAJOR && minor == TORCH_VERSION_MINOR) return {};
  return mismatch(running);
}

/// Reads a number at the front of `text` and drops it and one '.' after it.
bool take_number(std::string_view& text, unsigned& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty() && text.front() == '.') text.remove_prefix(1);
  return true;
}

/// The result of the function `symbol` of libtorch_cuda; nothing if there is none. Looks the library up
/// instead of linking it: it is loaded whenever a CUDA tensor exists, and CPU jobs should not pay for
/// loading its gigabyte.
template <class Answer>
std::optional<Answer> ask_torch_cuda(const char* symbol) {
  void* library = dlopen("libtorch_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
  if (library == nullptr) return std::nullopt;
  std::optional<Answer> answer;
  if (auto* function = reinterpret_cast<Answer (*)()>(dlsym(library, symbol))) answer = function();
  dlclose(library);
  return answer;
}

bool is_of_torch_cuda(const void* code) {
  Dl_info found{};
  if (code == nullptr || dladdr(code, &found) == 0 || found.dli_fname == nullptr) return false;
  return std::string_view(found.dli_fname).find("libtorch_cuda") != std::string_view::npos;
}

}  // namespace

const char* built_torch_version() {
  return STOWAGE_TEXT(TORCH_VERSION_MAJOR) "." STOWAGE_TEXT(TORCH_VERSION_MINOR) "." STOWAGE_TEXT(
      TORCH_VERSION_PATCH);
}

Status check_torch_version(std::string_view running) {
  unsigned major = 0;
  unsigned minor = 0;
  std::string_view rest = running;
  if (!take_number(rest, major) || !take_number(rest, minor))
    return mismatch('"' + std::string(running) + '"');
  return check(major, minor, std::string(running));
}

// The symbols here and below are of ATen/cuda/CUDAContextLight.h.
const std::array<std::size_t, 2>& blas_workspace_sizes() {
  static const std::array<std::size_t, 2> sizes{
      ask_torch_cuda<std::size_t>("_ZN2at4cuda22getChosenWorkspaceSizeEv").value_or(0),
      ask_torch_cuda<std::size_t>("_ZN2at4cuda26getCUDABlasLtWorkspaceSizeEv").value_or(0)};
  return sizes;
}

bool blas_workspaces_are_kept() {
  return ask_torch_cuda<bool>("_ZN2at4cuda33isCUDABlasWorkspaceCachingEnabledEv").value_or(true);
}

Status check_loaded_torch() {
  const std::uint64_t version = aoti_torch_abi_version();
  const auto major = static_cast<unsigned>(version >> 56 & 0xff);
  const auto minor = static_cast<unsigned>(version >> 48 & 0xff);
  return check(major, minor, std::to_string(major) + "." + std::to_string(minor));
}

bool is_blas_workspace(std::size_t bytes, const void* caller) {
  static const bool kept = blas_workspaces_are_kept();
  const auto& sizes = blas_workspace_sizes();
  return kept && bytes != 0 && (bytes == sizes[0] || bytes == sizes[1]) && is_of_torch_cuda(caller);
}

}  // namespace stowage::plugin
