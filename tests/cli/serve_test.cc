// moxie serve as a process: its port, its API, its signals.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/cli.h"
#include "tests/cli/run.h"
#include "tests/cli/tiny_model.h"

namespace moxie::cli {
namespace {

using ::testing::HasSubstr;

// `moxie serve ...` in a child of this process, its stderr in a pipe.
class ServeProcess {
 public:
  explicit ServeProcess(std::vector<std::string> words) {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], STDERR_FILENO);
      close(ends[0]);
      close(ends[1]);
      words.insert(words.begin(), {"moxie", "serve"});
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      _exit(Main(static_cast<int>(argv.size()), argv.data()));
    }
    close(ends[1]);
    stderr_ = ends[0];
  }
  ~ServeProcess() {
    if (pid_ > 0) Kill(SIGKILL);
    close(stderr_);
  }

  // Reads stderr to the end of the line that holds `text`; what follows `text` there. Empty when
  // stderr ends before.
  std::string LineAfter(const std::string& text) {
    while (true) {
      const size_t found = log_.find(text);
      const size_t end = found == std::string::npos ? found : log_.find('\n', found);
      if (end != std::string::npos)
        return log_.substr(found + text.size(), end - found - text.size());
      char buffer[512];
      const ssize_t got = read(stderr_, buffer, sizeof buffer);
      if (got <= 0) return "";
      log_.append(buffer, static_cast<size_t>(got));
    }
  }
  // Where it serves; 0 when it ended before.
  int Port() { return std::atoi(LineAfter("on http://localhost:").c_str()); }
  int Kill(int signal) {
    kill(pid_, signal);
    return Wait();
  }
  // The exit code; 128 + N after signal N.
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  const std::string& log() const { return log_; }

 private:
  pid_t pid_ = -1;
  int stderr_ = -1;
  std::string log_;
};

// One request on a connection of its own; the whole reply.
std::string Http(int port, const std::string& request) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  std::string reply;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      send(fd, request.data(), request.size(), 0) == static_cast<ssize_t>(request.size())) {
    char buffer[4096];
    for (ssize_t got; (got = recv(fd, buffer, sizeof buffer, 0)) > 0;)
      reply.append(buffer, static_cast<size_t>(got));
  }
  close(fd);
  return reply;
}

std::string Get(int port, const std::string& path, const std::string& headers = "") {
  return Http(
      port, StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", headers, "\r\n"));
}

std::string Post(int port, const std::string& path, const std::string& body) {
  return Http(port, StrCat("POST ", path, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n",
                           "Content-Type: application/json\r\nContent-Length: ", body.size(),
                           "\r\n\r\n", body));
}

class Serve : public ::testing::Test {
 protected:
  std::vector<std::string> Line(std::vector<std::string> more = {}) {
    std::vector<std::string> words{model_.path(),         "--port", "0", "--max-num-seqs", "4",
                                   "--served-model-name", "tiny"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  TinyModel model_{"mixtral", ::testing::TempDir() + "/moxie_serve_" + std::to_string(::getpid())};
};

TEST_F(Serve, AnswersAndEndsOnSigterm) {
  ServeProcess process(Line());
  const int port = process.Port();
  ASSERT_NE(port, 0) << process.log();
  EXPECT_THAT(process.log(), HasSubstr("of a budget of"));
  EXPECT_THAT(Get(port, "/health"), HasSubstr("HTTP/1.1 200"));
  EXPECT_THAT(Get(port, "/v1/models"), HasSubstr("\"id\":\"tiny\""));
  const std::string answer =
      Post(port, "/v1/completions",
           R"({"model":"tiny","prompt":"w1 w2","max_tokens":4,"temperature":0})");
  EXPECT_THAT(answer, HasSubstr("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("\"completion_tokens\":4"));
  EXPECT_EQ(process.Kill(SIGTERM), 0);
}

TEST_F(Serve, FlagsReachTheServer) {
  ServeProcess process(Line({"--api-key", "secret", "--max-model-len", "64"}));
  const int port = process.Port();
  ASSERT_NE(port, 0) << process.log();
  EXPECT_THAT(Get(port, "/v1/models"), HasSubstr("HTTP/1.1 401"));
  const std::string models = Get(port, "/v1/models", "Authorization: Bearer secret\r\n");
  EXPECT_THAT(models, HasSubstr("\"max_model_len\":64"));
  EXPECT_EQ(process.Kill(SIGINT), 0);
}

// One clear line on stderr, exit 1, and nothing is served.
TEST_F(Serve, BadModelsAreOneLineAndExit1) {
  const std::filesystem::path dir = model_.path();
  struct Bad {
    const char* file;
    const char* text;   // the file's new contents
    const char* error;  // in the message
  };
  const Bad bads[] = {
      {"model.safetensors", "short", "model.safetensors"},
      {"config.json", "{", "config.json: line 1"},
      {"config.json", R"({"model_type":"llama","architectures":["FooForCausalLM"]})",
       "\"FooForCausalLM\" is not supported; supported: LlamaForCausalLM"},
      {"config.json", R"({"model_type":"mixtral","hidden_size":64,"num_attention_heads":8})",
       "does not hold this model's weights"},
      {"tokenizer.json", "[]", "tokenizer.json"},
  };
  for (const Bad& bad : bads) {
    std::filesystem::rename(dir / bad.file, dir / "kept");
    std::ofstream(dir / bad.file) << bad.text;
    std::vector<std::string> words = Line();
    words.insert(words.begin(), "serve");
    Outcome outcome = Moxie(words);
    EXPECT_EQ(outcome.code, 1) << bad.error;
    EXPECT_THAT(outcome.err, ::testing::StartsWith("moxie: error: "));
    EXPECT_THAT(outcome.err, HasSubstr(bad.error));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    std::filesystem::rename(dir / "kept", dir / bad.file);
  }
}

TEST_F(Serve, PortInUseIsOneLineAndExit1) {
  ServeProcess first(Line());
  const int port = first.Port();
  ASSERT_NE(port, 0) << first.log();
  std::vector<std::string> words = Line();
  words[2] = std::to_string(port);
  words.insert(words.begin(), "serve");
  Outcome second = Moxie(words);
  EXPECT_EQ(second.code, 1);
  EXPECT_THAT(second.err, HasSubstr(StrCat("moxie: error: cannot listen on")));
  EXPECT_EQ(first.Kill(SIGTERM), 0);
}

}  // namespace
}  // namespace moxie::cli
