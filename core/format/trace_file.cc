#include "core/format/trace_file.h"

#include "core/format/columns.h"
#include "core/format/guarded.h"
#include "core/format/trace_generated.h"
#include "core/format/trace_reader.h"
#include "core/format/trace_writer.h"

namespace stowage {

Result<std::vector<std::byte>> encode_trace(const Trace& trace) {
  return format::encode(trace, format::Kind::kTrace, format::content_bound, format::write_trace);
}

Result<Trace> decode_trace(std::span<const std::byte> file) {
  return format::decode<Trace>(file, format::Kind::kTrace, format::VerifyTraceContentBuffer,
                               [](const void* content, format::ColumnReader& reader) {
                                 return format::read_trace(*format::GetTraceContent(content), reader);
                               });
}

Status save_trace(const Trace& trace, const std::filesystem::path& path) {
  return format::save(trace, path, encode_trace);
}

Result<Trace> load_trace(const std::filesystem::path& path) {
  return format::load<Trace>(path, format::Kind::kTrace, decode_trace);
}

}  // namespace stowage
