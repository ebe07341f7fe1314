#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

// Opens a regular file and tells its size. O_NONBLOCK: a FIFO of that name is refused, not waited for.
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

constexpr size_t kPage = 4096;

}  // namespace

Result<std::string> ReadFile(const std::filesystem::path& path, size_t max_bytes) {
  MOXIE_ASSIGN_OR_RETURN(auto opened, OpenRegular(path));
  Fd fd{opened.first};
  if (opened.second > max_bytes) {
    return InvalidArgument(path.string(), ": ", opened.second, " bytes, over the limit of ",
                           max_bytes);
  }
  std::string text(opened.second, '\0');
  size_t done = 0;
  while (done < text.size()) {
    ssize_t n = ::read(fd.fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError(path, "cannot read");
    if (n == 0)
      return DataLoss(path.string(), ": ends after ", done, " of ", text.size(), " bytes");
    done += static_cast<size_t>(n);
  }
  return text;
}

Result<MappedFile> MappedFile::Open(const std::filesystem::path& path) {
  MOXIE_ASSIGN_OR_RETURN(auto opened, OpenRegular(path));
  Fd fd{opened.first};
  MappedFile file;
  file.path_ = path;
  file.size_ = opened.second;
  if (file.size_ == 0) return file;
  void* data = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, fd.fd, 0);
  if (data == MAP_FAILED) return SystemError(path, "cannot map");
  file.data_ = static_cast<const std::byte*>(data);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::DropPages(size_t offset, size_t length) const {
  size_t begin = (offset + kPage - 1) / kPage * kPage;
  size_t end = (offset + length) / kPage * kPage;
  if (begin >= end) return;
  ::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

void MappedFile::Prefetch(size_t offset, size_t length) const {
  size_t begin = offset / kPage * kPage;
  ::madvise(const_cast<std::byte*>(data_) + begin, offset + length - begin, MADV_WILLNEED);
}

}  // namespace moxie
