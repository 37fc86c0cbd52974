#include "core/format/context_content.h"

namespace stowage::format {

std::uint64_t context_content_bound(const PlanContext& context) {
  return context.device_name.size() + context.torch_version.size() + context.budget.size() +
         context.backend.size();
}

flatbuffers::Offset<ContextContent> write_context_content(flatbuffers::FlatBufferBuilder& builder,
                                                          const PlanContext& context) {
  const auto device_name = builder.CreateString(context.device_name);
  const auto torch_version = builder.CreateString(context.torch_version);
  const auto budget = builder.CreateString(context.budget);
  const auto backend = builder.CreateString(context.backend);
  return CreateContextContent(builder, static_cast<std::uint8_t>(context.device), device_name,
                              context.device_memory.value(), torch_version, budget, context.world_size,
                              backend);
}

PlanContext read_context_content(const ContextContent& content, ColumnReader& reader) {
  PlanContext context;
  context.device = DeviceKind{content.device()};
  context.device_name = reader.take(content.device_name());
  context.device_memory = Bytes(content.device_memory());
  context.torch_version = reader.take(content.torch_version());
  context.budget = reader.take(content.budget());
  context.world_size = content.world_size();
  context.backend = reader.take(content.backend());
  return context;
}

}  // namespace stowage::format
