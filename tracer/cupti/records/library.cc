#include "tracer/cupti/records/library.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <optional>

namespace stowage::tracer::cupti {
namespace {

constexpr std::array<const char*, 2> kSonames{"libcupti.so.13", "libcupti.so.12"};
constexpr std::array<const char*, 2> kToolkitVariables{"CUDA_HOME", "CUDA_PATH"};

// A handle for dlsym. RTLD_DEFAULT, which is null, looks at what is preloaded, and then at the libraries that
// libstowage.so needs: torch's, which need CUPTI.
std::optional<void*> loaded_library() {
  if (dlsym(RTLD_DEFAULT, "cuptiActivityEnable") != nullptr) return RTLD_DEFAULT;
  for (const char* soname : kSonames) {
    if (void* const handle = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD)) return handle;
  }
  return std::nullopt;
}

// Never closed again: CUPTI keeps the callbacks that it was given.
std::optional<void*> toolkit_library() {
  for (const char* soname : kSonames) {
    if (void* const handle = dlopen(soname, RTLD_LAZY | RTLD_LOCAL)) return handle;
    for (const char* variable : kToolkitVariables) {
      const char* const folder = std::getenv(variable);
      if (folder == nullptr) continue;
      const std::string path = std::string(folder) + "/extras/CUPTI/lib64/" + soname;
      if (void* const handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL)) return handle;
    }
  }
  return std::nullopt;
}

template <class Function>
void bind(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
}

Library bind_all(void* handle) {
  Library library;
  bind(handle, "cuptiGetVersion", library.get_version);
  bind(handle, "cuptiGetResultString", library.get_result_string);
  bind(handle, "cuptiGetTimestamp", library.get_timestamp);
  bind(handle, "cuptiActivityEnable", library.enable);
  bind(handle, "cuptiActivityDisable", library.disable);
  bind(handle, "cuptiActivityRegisterCallbacks", library.register_callbacks);
  bind(handle, "cuptiActivityGetNextRecord", library.get_next_record);
  bind(handle, "cuptiActivityGetNumDroppedRecords", library.get_dropped);
  bind(handle, "cuptiActivityFlushAll", library.flush_all);
  bind(handle, "cuptiActivityPushExternalCorrelationId", library.push);
  bind(handle, "cuptiActivityPopExternalCorrelationId", library.pop);
  bind(handle, "cuptiActivitySetAttribute", library.set_attribute);
  bind(handle, "cuptiGetCallbackName", library.get_callback_name);
  bind(handle, "cuptiFinalize", library.finalize);
  return library;
}

}  // namespace

Result<Library> Library::find() {
  std::optional<void*> handle = loaded_library();
  if (!handle) handle = toolkit_library();
  if (!handle)
    return Error{ErrorCode::kUnsupported,
                 "neither torch nor a CUDA toolkit brings libcupti.so.13 or libcupti.so.12"};
  Library library = bind_all(*handle);
  if (!library.is_complete())
    return Error{ErrorCode::kUnsupported, "the libcupti of this process lacks functions of the activity API"};
  return library;
}

bool Library::is_complete() const {
  return get_version != nullptr && get_timestamp != nullptr && enable != nullptr && disable != nullptr &&
         register_callbacks != nullptr && get_next_record != nullptr && get_dropped != nullptr &&
         flush_all != nullptr && push != nullptr && pop != nullptr;
}

std::string Library::describe(const char* call, CuptiResult result) const {
  const char* text = nullptr;
  if (get_result_string != nullptr) static_cast<void>(get_result_string(result, &text));
  return std::string(call) + ": " + (text != nullptr ? text : "error") + " (" + std::to_string(result) + ")";
}

}  // namespace stowage::tracer::cupti
