// Files: whole reads with a bound, and read-only maps.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "base/status.h"

namespace moxie {

// The file's bytes. Errors name the path and the reason; a file over `max_bytes` is refused unread.
Result<std::string> ReadFile(const std::filesystem::path& path, size_t max_bytes);

// A read-only private map of a whole regular file; unmapped on destruction. Movable, not copyable.
class MappedFile {
 public:
  static Result<MappedFile> Open(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

  // Tells the kernel that [offset, offset + length) will not be read again: its resident pages are
  // given back (whole pages inside the range only). The bytes stay readable.
  void DropPages(size_t offset, size_t length) const;
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
  size_t size_ = 0;
  int fd_ = -1;
};

}  // namespace moxie
