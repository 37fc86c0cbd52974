#include "recompute/verify/call_text.h"

#include <sstream>

#include "recompute/ops/op_traits.h"

namespace stowage::recompute {
namespace {

std::string list_text(c10::IntArrayRef numbers) {
  std::ostringstream text;
  text << '(';
  for (std::size_t i = 0; i < numbers.size(); ++i) text << (i == 0 ? "" : ", ") << numbers[i];
  text << (numbers.size() == 1 ? ",)" : ")");
  return text.str();
}

bool is_contiguous(const Geometry& tensor) {
  std::int64_t expected = 1;
  const c10::IntArrayRef sizes = tensor.view.sizes_arrayref(), strides = tensor.view.strides_arrayref();
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

const char* text_of(Role role) {
  switch (role) {
    case Role::kRead:
      return "";
    case Role::kWritten:
      return ", read and written";
    case Role::kOverwritten:
      return ", overwritten";
    case Role::kUnread:
      return ", unread";
  }
  return "";
}

std::string plain_text(const c10::IValue& value) {
  std::ostringstream text;
  if (value.isString()) {
    text << '"' << value.toStringRef() << '"';
  } else {
    text << value;
  }
  return text.str();
}

// An argument's text; tensors are taken from `tensors` one after the other.
std::string argument_text(const Argument& argument, const Geometry*& tensors) {
  if (argument.kind == ArgumentKind::kPlain) return plain_text(argument.plain);
  if (argument.kind == ArgumentKind::kTensor) return text_of(*tensors++);
  std::string text = "[";
  for (const bool present : argument.present)
    text += (text.size() > 1 ? "; " : "") + (present ? text_of(*tensors++) : std::string("none"));
  return text + "]";
}

std::string arguments_text(const Signature& signature) {
  const Geometry* tensors = signature.tensors.data();
  std::string text;
  for (std::size_t i = 0; i < signature.arguments.size(); ++i) {
    text += text.empty() ? "" : "\n              ";
    text += argument_name(*signature.op, i) + " = " + argument_text(signature.arguments[i], tensors);
  }
  return text;
}

std::string settings_text(const Signature& signature) {
  const Environment& environment = signature.environment;
  std::ostringstream text;
  text << "grad mode " << (signature.grad_mode ? "on" : "off") << ", " << environment.threads
       << (environment.threads == 1 ? " thread" : " threads") << ", default dtype "
       << c10::toString(environment.default_type);
  const std::string switches = text_of(environment.switches, signature.obeyed());
  return text.str() + (switches.empty() ? "" : ", " + switches);
}

}  // namespace

std::string text_of(const Geometry& tensor) {
  std::string text = std::string(tensor.dtype.name()) + " " + list_text(tensor.view.sizes_arrayref()) +
                     " on " + tensor.device.str();
  if (!is_contiguous(tensor)) text += ", strides " + list_text(tensor.view.strides_arrayref());
  if (tensor.offset != 0) text += ", offset " + std::to_string(tensor.offset);
  return text + text_of(tensor.role);
}

std::string text_of(const Recipe& recipe) {
  const Signature& signature = *recipe.signature;
  return "  op          " + signature.op->name + "\n  arguments   " + arguments_text(signature) +
         "\n  settings    " + settings_text(signature);
}

}  // namespace stowage::recompute
