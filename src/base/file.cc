#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace moxie {
namespace {

// Closes the descriptor on scope exit.
struct Fd {
  int fd;
  ~Fd() {
    if (fd >= 0) ::close(fd);
  }
};

Status SystemError(const std::filesystem::path& path, const char* what) {
  const int error = errno;
  StatusCode code = error == ENOENT ? StatusCode::kNotFound : StatusCode::kUnavailable;
  return {code, StrCat(path.string(), ": ", what, ": ", std::strerror(error))};
}

// Opens a regular file and tells its size. O_NONBLOCK: a FIFO of that name is refused, not waited
// for.
Result<std::pair<int, size_t>> OpenRegular(const std::filesystem::path& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return SystemError(path, "cannot open");
  struct stat info;
  if (::fstat(fd, &info) != 0) {
    Status status = SystemError(path, "cannot stat");
    ::close(fd);
    return status;
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    return InvalidArgument(path.string(), ": not a regular file");
  }
  return std::pair(fd, static_cast<size_t>(info.st_size));
}

// Fills `out` from the file's bytes at `offset`.
Status ReadAll(int fd, const std::filesystem::path& path, size_t offset, std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t n =
        ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError(path, "cannot read");
    if (n == 0) {
      return DataLoss(path.string(), ": ends after ", offset + done, " of ", offset + out.size(),
                      " bytes");
    }
    done += static_cast<size_t>(n);
  }
  return {};
}

}  // namespace

Result<std::string> ReadFile(const std::filesystem::path& path, size_t max_bytes) {
  MOXIE_ASSIGN_OR_RETURN(auto opened, OpenRegular(path));
  Fd fd{opened.first};
  if (opened.second > max_bytes) {
    return InvalidArgument(path.string(), ": ", opened.second, " bytes, over the limit of ",
                           max_bytes);
  }
  std::string text(opened.second, '\0');
  MOXIE_RETURN_IF_ERROR(ReadAll(fd.fd, path, 0, std::as_writable_bytes(std::span(text))));
  return text;
}

Result<MappedFile> MappedFile::Open(const std::filesystem::path& path, size_t max_bytes) {
  MOXIE_ASSIGN_OR_RETURN(auto opened, OpenRegular(path));
  MappedFile file;
  file.path_ = path;
  file.fd_ = opened.first;
  file.size_ = opened.second;
  const size_t length = std::min(file.size_, max_bytes);
  if (length == 0) return file;
  void* data = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file.fd_, 0);
  if (data == MAP_FAILED) return SystemError(path, "cannot map");
  file.data_ = static_cast<const std::byte*>(data);
  file.mapped_ = length;
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      mapped_(std::exchange(other.mapped_, 0)),
      size_(std::exchange(other.size_, 0)),
      fd_(std::exchange(other.fd_, -1)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(mapped_, other.mapped_);
  std::swap(size_, other.size_);
  std::swap(fd_, other.fd_);
  return *this;
}

MappedFile::~MappedFile() {
  Unmap();
  if (fd_ >= 0) ::close(fd_);
}

void MappedFile::Unmap() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), mapped_);
  data_ = nullptr;
  mapped_ = 0;
}

Status MappedFile::ReadAt(size_t offset, std::span<std::byte> out) const {
  return ReadAll(fd_, path_, offset, out);
}

void MappedFile::Prefetch(size_t offset, size_t length) const {
  ::posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(length), POSIX_FADV_WILLNEED);
}

}  // namespace moxie
