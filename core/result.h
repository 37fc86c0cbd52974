// Expected failures as values. Programmer errors are for core/support/check.h; exceptions never leave a
// module.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace stowage {

/// What went wrong, as a name that a caller can act on.
enum class ErrorCode {
  kInvalidArgument,  ///< a setting or argument outside its bounds
  kNotFound,         ///< a file or library that is not there
  kIo,               ///< the operating system refused a read or write
  kForeignFile,      ///< not a file of ours
  kUnknownVersion,   ///< ours, but of a version this build cannot read
  kDamagedFile,      ///< ours, but truncated or changed
  kOutOfMemory,      ///< the device or host has not enough memory
  kUnplannable,      ///< the trace cannot be planned from (drops, no steady iteration)
  kInvalidPlan,      ///< a plan that the validator rejects
  kCancelled,        ///< stopped on request
  kTimeout,          ///< out of time before the first result
  kUnsupported,      ///< a version or machine that we do not serve
  kInternal,         ///< a defect of ours, contained
};

/// The code's stable name, such as "damaged-file".
const char* to_string(ErrorCode code);

/// One failure: `message` is a sentence that says what happened and what to do.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

/// Either a `T` or the `Error` that prevented it. Requires for value()/error(): that side is held.
template <class T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): `return value;`
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): `return Error{…};`
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}
  [[nodiscard]] bool ok() const { return held_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(held_); }
  const T& value() const& { return std::get<0>(held_); }
  T&& value() && { return std::get<0>(std::move(held_)); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  [[nodiscard]] const Error& error() const { return std::get<1>(held_); }

 private:
  std::variant<T, Error> held_;
};

/// Success without a value, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): `return Error{…};`
  Status(Error error) : error_(std::move(error)) {}
  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace stowage
