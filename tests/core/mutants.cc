#include "tests/core/mutants.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "core/format/kept_plans_file.h"
#include "core/format/kept_schedule_file.h"
#include "core/format/plan_file.h"
#include "core/format/trace_file.h"
#include "tests/core/random_trace.h"

namespace stowage::testing {
namespace {

std::vector<FileBytes> make_good_files() {
  std::vector<FileBytes> files;
  for (const std::uint32_t events : {0u, 20u, 60u, 200u, 600u}) {
    RandomTraceOptions options;
    options.events = events;
    files.push_back(encode_trace(random_trace(events, options)).value());
  }
  for (const std::uint32_t count : {0u, 5u, 40u, 150u}) {
    files.push_back(encode_plan(random_plan(count, count)).value());
  }
  for (const std::uint32_t count : {5u, 100u}) {
    KeptPlans kept;
    kept.context = {DeviceKind::kCpu, "CPU", Bytes(1 << 30), "2.11.0", "50%", 2, "host"};
    kept.job = "train.py";
    for (const std::uint32_t seed : {count, count + 1}) kept.plans.push_back(random_plan(seed, count));
    for (Plan& plan : kept.plans) plan.device = DeviceKind::kCpu;
    files.push_back(encode_kept_plans(kept).value());
    KeptSchedule schedule{kept.context,
                          kept.job,
                          1,
                          std::vector<std::uint64_t>(count, count),
                          std::vector<std::uint32_t>(count, 1),
                          {}};
    for (std::uint32_t op = 1; op < count; ++op)
      schedule.actions.push_back({op % 2 == 0 ? ActionKind::kEvict : ActionKind::kRematerialize, op, op / 2});
    files.push_back(encode_kept_schedule(schedule).value());
  }
  return files;
}

std::ptrdiff_t at(std::uint64_t index) { return static_cast<std::ptrdiff_t>(index); }

void flip(FileBytes& bytes, Random& random) {
  for (std::uint64_t i = random.below(8) + 1; i > 0 && !bytes.empty(); --i) {
    bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1u << random.below(8));
  }
}

/// Overwrites a number of 1, 2, 4 or 8 bytes with one that programs stumble over.
void poke(FileBytes& bytes, Random& random) {
  const std::size_t width = std::size_t{1} << random.below(4);
  if (bytes.size() < width) return;
  const std::size_t where = random.below(bytes.size() - width + 1) / width * width;
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data() + where, width);
  const std::uint64_t choices[] = {0,
                                   1,
                                   ~std::uint64_t{0},
                                   ~std::uint64_t{0} >> 1u,
                                   number + 1,
                                   number - 1,
                                   number * 2,
                                   bytes.size(),
                                   random.next(),
                                   random.below(256),
                                   std::uint64_t{1} << random.below(64)};
  number = choices[random.below(std::size(choices))];
  std::memcpy(bytes.data() + where, &number, width);
}

void splice(FileBytes& bytes, const FileBytes& donor, Random& random) {
  if (bytes.empty() || donor.empty()) return;
  const std::size_t from = random.below(donor.size());
  const std::size_t length = 1 + random.below(donor.size() - from);
  const std::size_t where = random.below(bytes.size());
  const auto begin = donor.begin() + at(from);
  switch (random.below(3)) {
    case 0:
      std::copy(begin, begin + at(std::min(length, bytes.size() - where)), bytes.begin() + at(where));
      break;
    case 1:
      bytes.insert(bytes.begin() + at(where), begin, begin + at(length));
      break;
    default:
      bytes.erase(bytes.begin() + at(where), bytes.begin() + at(std::min(bytes.size(), where + length)));
  }
}

void mutate_some_way(FileBytes& bytes, Random& random) {
  for (std::uint64_t i = 1 + random.below(3); i > 0; --i) {
    switch (random.below(4)) {
      case 0:
        flip(bytes, random);
        break;
      case 1:
        splice(bytes, FileBytes(bytes), random);
        break;
      default:
        poke(bytes, random);
    }
  }
}

FileBytes foreign(Random& random) {
  FileBytes bytes(random.below(400));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
  if (random.one_in(2))
    std::copy_n(good_files()[0].begin(), std::min<std::size_t>(bytes.size(), 16), bytes.begin());
  return bytes;
}

/// Changes the content of a good file and wraps it again.
FileBytes with_changed_content(const FileBytes& file, Random& random) {
  auto content = format::unpack(file, kind_of(file)).value();
  FileBytes bytes(content.bytes.get(), content.bytes.get() + content.size);
  if (random.one_in(10)) bytes.resize(random.below(bytes.size()));
  mutate_some_way(bytes, random);
  return format::pack(bytes, kind_of(file)).value();
}

}  // namespace

const std::vector<FileBytes>& good_files() {
  static const std::vector<FileBytes> files = make_good_files();
  return files;
}

format::Kind kind_of(const FileBytes& file) {
  std::uint16_t kind = 0;
  std::memcpy(&kind, file.data() + 12, sizeof kind);
  return format::Kind{kind};
}

void repair(FileBytes& file) {
  const std::uint64_t payload_bytes = file.size() - format::kHeaderBytes;
  std::memcpy(file.data() + 16, &payload_bytes, sizeof payload_bytes);
  const std::span<const std::byte> bytes(file);
  const std::uint64_t sum =
      format::checksum(bytes.subspan(format::kHeaderBytes), format::checksum(bytes.first(40), 0));
  std::memcpy(file.data() + 40, &sum, sizeof sum);
}

Mutant make_mutant(Mutation mutation, std::uint32_t number) {
  Random random((std::uint64_t{static_cast<std::uint8_t>(mutation)} << 32u) | number);
  const FileBytes& original = good_files()[random.below(good_files().size())];
  Mutant mutant{kind_of(original), mutation, true, false, original};
  switch (mutation) {
    case Mutation::kTruncate:
      mutant.bytes.resize(random.below(original.size()));
      break;
    case Mutation::kFlip:
      flip(mutant.bytes, random);
      break;
    case Mutation::kSplice:
      splice(mutant.bytes, good_files()[random.below(good_files().size())], random);
      break;
    case Mutation::kForeign:
      mutant.bytes = foreign(random);
      break;
    case Mutation::kRepaired:
      mutate_some_way(mutant.bytes, random);
      if (mutant.bytes.size() >= format::kHeaderBytes) repair(mutant.bytes);
      mutant.sealed = true;
      break;
    case Mutation::kContent:
    case Mutation::kCount:
      mutant.bytes = with_changed_content(original, random);
      mutant.sealed = true;
  }
  const auto& files = good_files();
  mutant.changed = std::find(files.begin(), files.end(), mutant.bytes) == files.end();
  return mutant;
}

}  // namespace stowage::testing
