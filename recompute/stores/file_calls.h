// The system calls that a spill file makes, so that tests can let each of them fail.
//
// Thread safety: a value.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace stowage::recompute {

struct FileCalls {
  decltype(&::pwrite) write = &::pwrite;
  decltype(&::pread) read = &::pread;
  decltype(&::posix_fallocate) allocate = &::posix_fallocate;
};

}  // namespace stowage::recompute
