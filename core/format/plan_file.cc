#include "core/format/plan_file.h"

#include <span>

#include "core/format/guarded.h"
#include "core/format/plan_content.h"

namespace stowage {

Result<std::vector<std::byte>> encode_plan(const Plan& plan) {
  return format::guarded([&]() -> Result<std::vector<std::byte>> {
    if (Status status = plan.validate(); !status) return status.error();
    if (format::plan_content_bound(plan) > format::kMaxContentBytes) return format::too_large();
    flatbuffers::FlatBufferBuilder builder(16 * 1024);
    format::FinishPlanContentBuffer(builder, format::write_plan_content(builder, plan));
    return format::pack(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())),
                        format::Kind::kPlan);
  });
}

Result<Plan> decode_plan(std::span<const std::byte> file) {
  return format::guarded([&]() -> Result<Plan> {
    auto content = format::unpack(file, format::Kind::kPlan);
    if (!content) return content.error();
    auto verifier = format::make_verifier(*content);
    if (!format::VerifyPlanContentBuffer(verifier)) return format::damaged("its content breaks its schema");
    format::ColumnReader reader(content->size);
    Plan plan = format::read_plan_content(*format::GetPlanContent(content->bytes.get()), reader);
    if (reader.damaged()) return format::damaged("its columns do not agree");
    if (Status status = plan.validate(); !status) return format::damaged(status.error().message.c_str());
    return plan;
  });
}

Status save_plan(const Plan& plan, const std::filesystem::path& path) {
  return format::save(plan, path, encode_plan);
}

Result<Plan> load_plan(const std::filesystem::path& path) {
  return format::load<Plan>(path, format::Kind::kPlan, decode_plan);
}

}  // namespace stowage
