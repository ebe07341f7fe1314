#include "cli/cli.h"

int main(int argc, char** argv) { return moxie::cli::Main(argc, argv); }
