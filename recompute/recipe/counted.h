// Counted references and recycled memory for objects that the runtime makes for each op.
//
// Everything of this kind is made, copied and released under the runtime's lock, so that neither counts nor
// free lists need atomics. Memory of a dead object serves the next of its type, which is still in the cache.
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace stowage::recompute {

/// Base of `T`: the memory of a dead T is kept for the next.
template <class T>
class Recycled {
 public:
  static void* operator new(std::size_t bytes) {
    if (free_ == nullptr) return ::operator new(bytes < sizeof(Free) ? sizeof(Free) : bytes);
    Free* const taken = free_;
    free_ = taken->next;
    return taken;
  }
  static void operator delete(void* memory) noexcept { free_ = ::new (memory) Free{free_}; }

 private:
  struct Free {
    Free* next;
  };
  inline static Free* free_ = nullptr;
};

/// Base of `T`, to which Refs can be held.
template <class T>
class Counted : public Recycled<T> {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  template <class>
  friend class Ref;
  std::uint32_t references_ = 0;
};

/// A reference to a Counted object, or null. The last one deletes it.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) {
    if (object_ != nullptr) ++object_->references_;
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { reset(); }

  void reset() {
    T* const object = std::exchange(object_, nullptr);
    if (object != nullptr && --object->references_ == 0) delete object;
  }
  [[nodiscard]] T* get() const { return object_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  /// True if this is the only reference.
  [[nodiscard]] bool alone() const { return object_ != nullptr && object_->references_ == 1; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  T* object_ = nullptr;
};

}  // namespace stowage::recompute
