#include "cli/cli.h"
#include "memory/process.h"

int main(int argc, char** argv) {
  moxie::memory::BoundMalloc();
  return moxie::cli::Main(argc, argv);
}
