// libcupti stand-in: the activity API, timestamps, one subscriber and its callbacks
// around calls of the driver and the runtime.
#include <cupti.h>

#include <cstring>
#include <optional>

#include "simulator/stand_ins/api.h"
#include "simulator/stand_ins/cupti/faults.h"
#include "simulator/stand_ins/cupti/profiler.h"

using namespace stowage::simulator;

// First in each function: what it answers on purpose, if anything.
#define ANSWER_FAULT() \
  if (const CUptiResult fault = cupti_faults().answer(__func__); fault != CUPTI_SUCCESS) return fault

SIM_API CUptiResult cuptiGetVersion(uint32_t* version) {
  ANSWER_FAULT();
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "refused by the simulated CUPTI";
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiGetLastError() { return CUPTI_SUCCESS; }

SIM_API CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  ANSWER_FAULT();
  VirtualNs host = 0;
  {
    Call call;
    host = call->timeline.host_ns();
  }
  Profiler::get().clock.begin(host);
  *timestamp = Profiler::get().clock.now(host);
  return CUPTI_SUCCESS;
}

// ---- one subscriber

namespace {
// Nothing happens here in the other domains, such as those of resources and of NVTX.
std::optional<ApiDomain> api_of(CUpti_CallbackDomain domain) {
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) return ApiDomain::kDriver;
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) return ApiDomain::kRuntime;
  return std::nullopt;
}
}  // namespace

SIM_API CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc function,
                                   void* user) {
  ANSWER_FAULT();
  static int handle = 0;
  if (!Profiler::get().callbacks.subscribe(function, user))
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&handle);
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  ANSWER_FAULT();
  Profiler::get().callbacks.unsubscribe();
  Profiler::get().listen_if_wanted();
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                        CUpti_CallbackId id) {
  ANSWER_FAULT();
  if (const auto api = api_of(domain)) Profiler::get().callbacks.enable(*api, id, enable != 0);
  Profiler::get().listen_if_wanted();
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain) {
  ANSWER_FAULT();
  if (const auto api = api_of(domain)) Profiler::get().callbacks.enable(*api, enable != 0);
  Profiler::get().listen_if_wanted();
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiFinalize() {
  ANSWER_FAULT();
  Profiler::get().detach();
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char** name) {
  ANSWER_FAULT();
  const auto api = api_of(domain);
  *name = api ? function_name(*api, id) : nullptr;
  return *name != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

// ---- activities

SIM_API CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  ANSWER_FAULT();
  Profiler::get().enable(kind, true);
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  ANSWER_FAULT();
  Profiler::get().enable(kind, false);
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t enable) {
  ANSWER_FAULT();
  Profiler::get().mute(ApiDomain::kRuntime, id, enable == 0);
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t enable) {
  ANSWER_FAULT();
  Profiler::get().mute(ApiDomain::kDriver, id, enable == 0);
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                   CUpti_BuffersCallbackCompleteFunc complete) {
  ANSWER_FAULT();
  if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  Profiler::get().buffers.use(request, complete);
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc client) {
  ANSWER_FAULT();
  Profiler::get().clock.use(client);
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  ANSWER_FAULT();
  Profiler::get().flush((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiActivityFlushPeriod(uint32_t) { return CUPTI_SUCCESS; }

SIM_API CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  ANSWER_FAULT();
  *dropped = Profiler::get().buffers.take_dropped();
  return CUPTI_SUCCESS;
}

// Any bytes may be given: a kind that is not known ends the walk with an error, a cut record as if there were
// no more.
SIM_API CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  ANSWER_FAULT();
  const auto kind_at = [](const uint8_t* at) {
    CUpti_ActivityKind kind{};
    std::memcpy(&kind, at, sizeof kind);
    return kind;
  };
  auto* next = buffer;
  if (*record != nullptr) {
    auto* const before = reinterpret_cast<uint8_t*>(*record);
    next = before + record_size(kind_at(before));
  }
  if (next + sizeof(CUpti_ActivityKind) > buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  const std::size_t size = record_size(kind_at(next));
  if (size == 0) return CUPTI_ERROR_INVALID_KIND;
  if (next + size > buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  ANSWER_FAULT();
  Profiler::get().push(kind, id);
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                          uint64_t* last) {
  ANSWER_FAULT();
  std::uint64_t id = 0;
  const bool popped = Profiler::get().pop(kind, id);
  if (last != nullptr) *last = id;
  return popped ? CUPTI_SUCCESS : CUPTI_ERROR_QUEUE_EMPTY;
}

// ---- attributes

SIM_API CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t* bytes, void* value) {
  ANSWER_FAULT();
#if CUPTI_API_VERSION >= 130000
  if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER && *bytes > 0)
    Profiler::get().buffers.keep_per_thread(*static_cast<const uint8_t*>(value) != 0);
#endif
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute, size_t* bytes, void* value) {
  ANSWER_FAULT();
  std::memset(value, 0, *bytes);
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  ANSWER_FAULT();
  Profiler::get().use_system_thread_ids(type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType* type) {
  ANSWER_FAULT();
  *type = Profiler::get().system_thread_ids() ? CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
                                              : CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t) { return CUPTI_SUCCESS; }
SIM_API CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t) { return CUPTI_SUCCESS; }
