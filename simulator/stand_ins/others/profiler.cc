// libcupti stand-in: accepts every request and never delivers a record, so that torch.profiler runs.
#include <cupti.h>

#include "simulator/stand_ins/api.h"

SIM_API CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "refused by the simulated CUPTI";
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc, void*) {
  static int handle = 0;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&handle);
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiActivityGetNextRecord(uint8_t*, size_t, CUpti_Activity** record) {
  *record = nullptr;
  return CUPTI_ERROR_MAX_LIMIT_REACHED;
}

SIM_API CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, uint64_t* last) {
  if (last != nullptr) *last = 0;
  return CUPTI_SUCCESS;
}

SIM_API CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  stowage::simulator::Call call;
  *timestamp = static_cast<uint64_t>(call->timeline.host_ns());
  return CUPTI_SUCCESS;
}
