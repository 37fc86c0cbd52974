#include "core/format/trace_file.h"

#include "core/format/columns.h"
#include "core/format/guarded.h"
#include "core/format/trace_generated.h"
#include "core/format/trace_reader.h"
#include "core/format/trace_writer.h"

namespace stowage {

Result<std::vector<std::byte>> encode_trace(const Trace& trace) {
  return format::guarded([&]() -> Result<std::vector<std::byte>> {
    if (Status status = trace.validate(); !status) return status.error();
    if (format::content_bound(trace) > format::kMaxContentBytes) return format::too_large();
    flatbuffers::FlatBufferBuilder builder(64 * 1024);
    format::write_trace(builder, trace);
    return format::pack(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())),
                        format::Kind::kTrace);
  });
}

Result<Trace> decode_trace(std::span<const std::byte> file) {
  return format::guarded([&]() -> Result<Trace> {
    auto content = format::unpack(file, format::Kind::kTrace);
    if (!content) return content.error();
    auto verifier = format::make_verifier(*content);
    if (!format::VerifyTraceContentBuffer(verifier)) return format::damaged("its content breaks its schema");
    format::ColumnReader reader(content->size);
    Trace trace = format::read_trace(*format::GetTraceContent(content->bytes.get()), reader);
    if (reader.damaged()) return format::damaged("its columns do not agree");
    if (Status status = trace.validate(); !status) return format::damaged(status.error().message.c_str());
    return trace;
  });
}

Status save_trace(const Trace& trace, const std::filesystem::path& path) {
  return format::save(trace, path, encode_trace);
}

Result<Trace> load_trace(const std::filesystem::path& path) {
  return format::load<Trace>(path, format::Kind::kTrace, decode_trace);
}

}  // namespace stowage
