#include "core/format/plan_file.h"

#include <span>

#include "core/format/guarded.h"
#include "core/format/plan_content.h"

namespace stowage {

Result<std::vector<std::byte>> encode_plan(const Plan& plan) {
  return format::encode(plan, format::Kind::kPlan, format::plan_content_bound,
                        [](flatbuffers::FlatBufferBuilder& builder, const Plan& one) {
                          format::FinishPlanContentBuffer(builder, format::write_plan_content(builder, one));
                        });
}

Result<Plan> decode_plan(std::span<const std::byte> file) {
  return format::decode<Plan>(file, format::Kind::kPlan, format::VerifyPlanContentBuffer,
                              [](const void* content, format::ColumnReader& reader) {
                                return format::read_plan_content(*format::GetPlanContent(content), reader);
                              });
}

Status save_plan(const Plan& plan, const std::filesystem::path& path) {
  return format::save(plan, path, encode_plan);
}

Result<Plan> load_plan(const std::filesystem::path& path) {
  return format::load<Plan>(path, format::Kind::kPlan, decode_plan);
}

}  // namespace stowage
