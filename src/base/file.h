// Files: whole reads with a bound, and read-only maps.
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <span>
#include <string>

#include "base/status.h"

namespace moxie {

// The file's bytes. Errors name the path and the reason; a file over `max_bytes` is refused unread.
Result<std::string> ReadFile(const std::filesystem::path& path, size_t max_bytes);

// A read-only private map of a regular file, or of its beginning; unmapped on destruction. Movable,
// not copyable.
class MappedFile {
 public:
  // Maps no more than the first `max_bytes`: address space is a limit too (RLIMIT_AS).
  static Result<MappedFile> Open(const std::filesystem::path& path,
                                 size_t max_bytes = std::numeric_limits<size_t>::max());
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  // What is mapped.
  std::span<const std::byte> bytes() const { return {data_, mapped_}; }
  size_t size() const { return size_; }  // of the file
  const std::filesystem::path& path() const { return path_; }

  // Gives the map's pages and addresses back; the file stays open for ReadAt and Prefetch.
  void Unmap();
  // Copies [offset, offset + out.size()) of the file without touching the map: for large parts that
  // are read once, cheaper than a fault a page, and a file that was cut short meanwhile is an error
  // here instead of a signal. Thread-safe.
  Status ReadAt(size_t offset, std::span<std::byte> out) const;
  // Asks the kernel to read [offset, offset + length) ahead.
  void Prefetch(size_t offset, size_t length) const;

 private:
  MappedFile() = default;
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t mapped_ = 0;
  size_t size_ = 0;
  int fd_ = -1;
};

}  // namespace moxie
